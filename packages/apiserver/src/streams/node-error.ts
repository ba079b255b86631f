import { ApiError, type ApiReason } from "../api-error.ts";

const passedOn: readonly string[] = [
  "BadRequest",
  "NotFound",
  "Conflict",
  "TooManyRequests",
  "ServiceUnavailable",
] satisfies ApiReason[];

/**
 * Converts an error of the node. Its errors have a Kubernetes reason; all others are internal errors. The message has no prefix
 * by default, because clients add their own.
 */
export function fromNode(error: unknown, before = ""): ApiError {
  const { reason, message } = error as { reason?: unknown; message?: unknown };
  const known = passedOn.find((each) => each === reason) as ApiReason | undefined;
  return new ApiError(known ?? "InternalError", `${before}${String(message)}`, { cause: error });
}

export const notOffered = (what: string): ApiError =>
  new ApiError("ServiceUnavailable", `the node of this server does not offer ${what}`);

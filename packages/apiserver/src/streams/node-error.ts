import { ApiError, type ApiReason } from "../api-error.ts";

const passedOn: readonly string[] = [
  "BadRequest",
  "NotFound",
  "Conflict",
  "TooManyRequests",
  "ServiceUnavailable",
] satisfies ApiReason[];

/**
 * The node's errors carry a Kubernetes reason; whatever else happened is an internal error. Nothing is put before them by
 * default: clients say themselves that they could not upgrade.
 */
export function fromNode(error: unknown, before = ""): ApiError {
  const { reason, message } = error as { reason?: unknown; message?: unknown };
  const known = passedOn.find((each) => each === reason) as ApiReason | undefined;
  return new ApiError(known ?? "InternalError", `${before}${String(message)}`, { cause: error });
}

export const notOffered = (what: string): ApiError =>
  new ApiError("ServiceUnavailable", `the node of this server does not offer ${what}`);

import { FrameError } from "../../connect/envelope.ts";
import { RpcError } from "../../connect/rpc-error.ts";
import { HttpError } from "../../http/http-error.ts";
import { RuntimeError } from "../../runtime/rest.ts";

const codeByRuntimeCode: Readonly<Record<string, RpcError["code"]>> = {
  INVALID_ARGUMENT: "invalid_argument",
  NOT_FOUND: "not_found",
  PERMISSION_DENIED: "permission_denied",
  CONFLICT: "already_exists",
  RESOURCE_EXHAUSTED: "resource_exhausted",
  TOO_LARGE: "resource_exhausted",
  UNAVAILABLE: "unavailable",
};

/** Every error that a client is to understand must have the form of the Connect protocol. */
export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof RuntimeError) {
    return new RpcError(codeByRuntimeCode[error.code] ?? "internal", error.message, { cause: error });
  }
  if (error instanceof FrameError) return new RpcError("invalid_argument", error.message, { cause: error });
  if (error instanceof HttpError) {
    const code = ({ 413: "resource_exhausted", 503: "unavailable" } as const)[error.status] ?? "invalid_argument";
    return new RpcError(code, error.message, { cause: error });
  }
  return new RpcError("internal", "An internal error occurred", { cause: error });
}

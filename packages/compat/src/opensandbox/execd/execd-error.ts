import { FrameError } from "../../connect/envelope.ts";
import { RpcError } from "../../connect/rpc-error.ts";
import type { HttpError } from "../../http/http-error.ts";
import { asHttpError } from "../../http/kube-failure.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import { RouterRefusal } from "../../runtime/router-refusal.ts";
import { OpenSandboxError } from "../failure.ts";

export const invalidRequest = (message: string): OpenSandboxError =>
  new OpenSandboxError(400, "INVALID_REQUEST_BODY", message);
export const missingQuery = (name: string): OpenSandboxError =>
  new OpenSandboxError(400, "MISSING_QUERY", `The parameter ${name} is required`);
export const fileNotFound = (path: string): OpenSandboxError =>
  new OpenSandboxError(404, "FILE_NOT_FOUND", `${path} does not exist`);
export const runtimeFailure = (message: string): OpenSandboxError =>
  new OpenSandboxError(500, "RUNTIME_ERROR", message);
export const unsupported = (feature: string): OpenSandboxError =>
  new OpenSandboxError(501, "NOT_SUPPORTED", `${feature} is not supported by this server`);

const codeByStatus: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST_BODY",
  404: "FILE_NOT_FOUND",
  416: "INVALID_FILE",
  501: "NOT_SUPPORTED",
};

const statusByRpcCode: Readonly<Partial<Record<RpcError["code"], number>>> = {
  invalid_argument: 400,
  not_found: 404,
  failed_precondition: 400,
  resource_exhausted: 429,
  unavailable: 503,
};

/** Gives every failure of the daemon's protocol the form of its errors. */
export function asExecdError(error: unknown): HttpError {
  if (error instanceof OpenSandboxError) return error;
  if (error instanceof RuntimeError || error instanceof RouterRefusal) {
    return failure(error.status, error.message, error);
  }
  if (error instanceof RpcError) return failure(statusByRpcCode[error.code] ?? 500, error.message, error);
  if (error instanceof FrameError) return failure(502, "The sandbox sent an invalid answer", error);
  const { status, message, headers } = asHttpError(error);
  return new OpenSandboxError(status, codeByStatus[status] ?? "UNKNOWN", message, { headers, cause: error });
}

function failure(status: number, message: string, cause: unknown): OpenSandboxError {
  return new OpenSandboxError(status, codeByStatus[status] ?? "RUNTIME_ERROR", message, { cause });
}

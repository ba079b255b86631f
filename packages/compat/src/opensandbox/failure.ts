import { HttpError } from "../http/http-error.ts";
import { asHttpError } from "../http/kube-failure.ts";

/** An error answer in the form that OpenSandbox's clients expect: `{"code": "SANDBOX::...", "message": "..."}`. */
export class OpenSandboxError extends HttpError {
  readonly code: string;

  constructor(status: number, code: string, message: string, more: ConstructorParameters<typeof HttpError>[2] = {}) {
    super(status, message, more);
    this.code = code;
  }

  override get body(): object {
    return { code: this.code, message: this.message };
  }
}

export const invalidParameter = (message: string): OpenSandboxError =>
  new OpenSandboxError(400, "SANDBOX::INVALID_PARAMETER", message);

export const invalidState = (message: string): OpenSandboxError =>
  new OpenSandboxError(409, "KUBERNETES::INVALID_STATE", message);

/** An option or a call that this server does not have. Nothing was changed. */
export const notSupported = (feature: string, code = "SANDBOX::API_NOT_SUPPORTED"): OpenSandboxError =>
  new OpenSandboxError(501, code, `${feature} is not supported by this server`);

const codeByStatus: Readonly<Record<number, string>> = {
  400: "SANDBOX::INVALID_PARAMETER",
  401: "SANDBOX::UNAUTHORIZED",
  403: "SANDBOX::FORBIDDEN",
  404: "KUBERNETES::SANDBOX_NOT_FOUND",
  409: "KUBERNETES::INVALID_STATE",
  413: "SANDBOX::INVALID_PARAMETER",
  429: "SANDBOX::TOO_MANY_REQUESTS",
  501: "SANDBOX::API_NOT_SUPPORTED",
};

/** Gives every failure of the lifecycle API the form of its errors. */
export function asLifecycleError(error: unknown): HttpError {
  if (error instanceof OpenSandboxError) return error;
  const { status, message, headers, cause } = asHttpError(error);
  return new OpenSandboxError(status, codeByStatus[status] ?? "GENERAL::UNKNOWN_ERROR", message, { headers, cause });
}

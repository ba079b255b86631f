/** The codes of the Connect protocol, and the HTTP status of each for unary calls. */
const statusByCode = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
} as const;

export type RpcCode = keyof typeof statusByCode;

/** An error of a call. The message is sent to the client. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): number {
    return statusByCode[this.code];
  }

  get body(): object {
    return { code: this.code, message: this.message };
  }
}

export function isRpcCode(text: string | undefined): text is RpcCode {
  return text !== undefined && Object.hasOwn(statusByCode, text);
}

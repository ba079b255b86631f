import type { Status } from "@agent-sandbox/api";

/**
 * The reasons that a Kubernetes API server gives with their HTTP status, and three for requests without a valid response. If
 * several reasons have the same status, the first one is assumed for a response that names none.
 */
const codeByReason = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  AlreadyExists: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 504,
  Unknown: 500,
  /** The request was never sent: it is safe to repeat. */
  Unreachable: 0,
  /** The request was sent and no complete response arrived: it may have been carried out. */
  Interrupted: 0,
  /** The response is not one of an API server. */
  InvalidResponse: 0,
} as const;

export type KubeReason = keyof typeof codeByReason;

const reasonByCode: ReadonlyMap<number, KubeReason> = new Map(
  (Object.entries(codeByReason) as [KubeReason, number][]).toReversed().map(([reason, code]) => [code, reason]),
);

/** The reason for a response of the API server that has this HTTP status and does not name a reason. */
export function reasonOfCode(code: number): KubeReason | undefined {
  return code > 0 ? reasonByCode.get(code) : undefined;
}

/** Whether a server may give this reason. */
export function isServerReason(reason: string | undefined): reason is KubeReason {
  return reason !== undefined && Object.hasOwn(codeByReason, reason) && codeByReason[reason as KubeReason] > 0;
}

export interface KubeErrorOptions {
  readonly code?: number;
  readonly details?: Status["details"];
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The error class of this package. `reason` is for code, `message` for people. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly reason: KubeReason;
  /** The HTTP status; 0 without a response. */
  readonly code: number;
  readonly details: Status["details"];
  readonly retryAfterMs: number | undefined;

  constructor(reason: KubeReason, message: string, options: KubeErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.code = options.code ?? codeByReason[reason];
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isReason(error: unknown, ...reasons: KubeReason[]): error is KubeError {
  return error instanceof KubeError && reasons.includes(error.reason);
}

/** Whether an object could not be created because its namespace is being deleted. The error may be the cause of another one. */
export function isNamespaceEnding(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const causes = error instanceof KubeError ? (error.details?.causes ?? []) : [];
  return causes.some(({ reason }) => reason === "NamespaceTerminating") || isNamespaceEnding(error.cause);
}

/** Why the router itself answers, and with which status. What a sandbox answers is passed on as it is. */
const statusByReason = {
  InvalidRequest: 400,
  Unauthenticated: 401,
  Forbidden: 403,
  /** No Sandbox and no bound claim of that name, or it is going away. */
  SandboxNotFound: 404,
  MethodNotAllowed: 405,
  /** Suspended by someone who did not leave waking to traffic. */
  SandboxSuspended: 409,
  SandboxExpired: 410,
  BodyTooLarge: 413,
  CallerLimit: 429,
  HeadersTooLarge: 431,
  Internal: 500,
  /** The caller wants to speak what the router cannot carry. */
  UnknownProtocol: 501,
  /** The connection to the sandbox was lost, or its answer makes no sense. The request may have been carried out. */
  BadUpstream: 502,
  /** The sandbox is there and nothing listens on that port. Nothing was sent. */
  Refused: 502,
  /** No connection to the sandbox could be made. Nothing was sent. */
  Unreachable: 502,
  NotSynced: 503,
  SandboxLimit: 503,
  SandboxStarting: 503,
  SandboxFinished: 503,
  SandboxCrashing: 503,
  Unschedulable: 503,
  ImageUnavailable: 503,
  /** The write that resumes the sandbox was refused. */
  WakeFailed: 503,
  WaitingRoomFull: 503,
  /** Nobody could confirm that the address still belongs to the sandbox. Nothing was sent. */
  Unverified: 503,
  Timeout: 504,
} as const;

export type RouterReason = keyof typeof statusByReason;

/** The bodies of these carry `detail` alone: existing clients compare them whole. */
const detailOnly: ReadonlySet<RouterReason> = new Set(["InvalidRequest", "Unauthenticated", "Forbidden"]);

export interface RouterErrorOptions {
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An answer of the router's own. The message is for the caller: nothing internal goes into it. */
export class RouterError extends Error {
  override readonly name = "RouterError";
  readonly reason: RouterReason;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: RouterReason, message: string, options: RouterErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return statusByReason[this.reason];
  }

  get body(): string {
    const { message: detail, reason } = this;
    return JSON.stringify(detailOnly.has(reason) ? { detail } : { detail, reason });
  }
}

export const unauthenticated = (cause?: unknown): RouterError =>
  new RouterError("Unauthenticated", "unauthenticated", { cause });

export const forbidden = (cause?: unknown): RouterError => new RouterError("Forbidden", "forbidden", { cause });

export const tooLate = (): RouterError => new RouterError("InvalidRequest", "The request did not arrive in time.");

/** Whatever was caught, as an answer: what is not ours is told in general words, and kept as the cause for the log. */
export function asRouterError(error: unknown): RouterError {
  if (error instanceof RouterError) return error;
  return new RouterError("Internal", "An internal error occurred in the proxy.", { cause: error });
}

/** The gRPC status that says the same as a reason. */
export function grpcStatusOf(reason: RouterReason): number {
  const [invalidArgument, deadlineExceeded, notFound, permissionDenied] = [3, 4, 5, 7];
  const [resourceExhausted, failedPrecondition, internal, unavailable, unauthenticatedCode] = [8, 9, 13, 14, 16];
  switch (statusByReason[reason]) {
    case 400:
    case 431:
      return invalidArgument;
    case 401:
      return unauthenticatedCode;
    case 403:
      return permissionDenied;
    case 404:
    case 410:
      return notFound;
    case 409:
      return failedPrecondition;
    case 413:
    case 429:
      return resourceExhausted;
    case 502:
    case 503:
      return unavailable;
    case 504:
      return deadlineExceeded;
    default:
      return internal;
  }
}

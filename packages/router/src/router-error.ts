/** The reasons for error responses of the router itself, and their status. Responses of sandboxes are relayed unchanged. */
const statusByReason = {
  InvalidRequest: 400,
  Unauthenticated: 401,
  Forbidden: 403,
  /** There is no Sandbox and no bound claim of that name, or it is being deleted. */
  SandboxNotFound: 404,
  MethodNotAllowed: 405,
  /** Suspended, and its policy does not allow traffic to resume it. */
  SandboxSuspended: 409,
  SandboxExpired: 410,
  BodyTooLarge: 413,
  CallerLimit: 429,
  HeadersTooLarge: 431,
  Internal: 500,
  /** The client asks for a protocol that the router cannot forward. */
  UnknownProtocol: 501,
  /** The connection to the sandbox was lost, or its response is not valid HTTP. The request may have been executed. */
  BadUpstream: 502,
  /** Nothing listens on that port of the sandbox. Nothing was sent. */
  Refused: 502,
  /** The sandbox could not be connected to. Nothing was sent. */
  Unreachable: 502,
  NotSynced: 503,
  SandboxLimit: 503,
  SandboxStarting: 503,
  SandboxFinished: 503,
  /** The sandbox was stopped, or resumed without its memory, which ended its open connections. */
  SandboxStopped: 503,
  SandboxCrashing: 503,
  Unschedulable: 503,
  ImageUnavailable: 503,
  /** The API server refused the write that wakes the sandbox. */
  WakeFailed: 503,
  TooManyLogins: 503,
  TooManyWaitingRequests: 503,
  /** The router could not verify that the address still belongs to the sandbox. Nothing was sent. */
  Unverified: 503,
  Timeout: 504,
} as const;

export type RouterReason = keyof typeof statusByReason;

/** The bodies of these have only `detail`, because existing clients compare the whole body. */
const detailOnly: ReadonlySet<RouterReason> = new Set(["InvalidRequest", "Unauthenticated", "Forbidden"]);

export interface RouterErrorOptions {
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An error response of the router. The message is sent to the client, so it must not contain internal details. */
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

export const requestTimeout = (): RouterError =>
  new RouterError("InvalidRequest", "The request did not arrive in time.");

/** Any error as a RouterError. Other errors get a general message and become the cause, which is logged. */
export function asRouterError(error: unknown): RouterError {
  if (error instanceof RouterError) return error;
  return new RouterError("Internal", "An internal error occurred in the proxy.", { cause: error });
}

/** The gRPC status that corresponds to a reason. */
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

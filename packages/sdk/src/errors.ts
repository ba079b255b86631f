/**
 * Why a call failed:
 *
 * - `NotFound`: the sandbox, file, process or other object does not exist.
 * - `AlreadyExists`: another object has this name.
 * - `Suspended`: the sandbox is suspended, and traffic may not resume it.
 * - `Starting`: the sandbox did not become ready in time, but still may.
 * - `Failed`: the sandbox will not become ready; the message has the cause.
 * - `Unauthenticated`: the credential is missing, invalid or expired.
 * - `Forbidden`: the caller is not allowed to do this.
 * - `InvalidArgument`: a parameter is not valid.
 * - `Conflict`: the state of the object does not allow the call, for example a directory that is not empty.
 * - `LimitExceeded`: a quota or a limit is reached.
 * - `TimedOut`: the call took longer than its timeout.
 * - `Unreachable`: the server could not be reached, and the call had no effect.
 * - `OutcomeUnknown`: the connection was lost after the call was sent. It may have had an effect.
 * - `Unsupported`: the server or the runtime in the sandbox does not have this feature.
 * - `Internal`: anything else.
 */
export type ErrorReason =
  | "NotFound"
  | "AlreadyExists"
  | "Suspended"
  | "Starting"
  | "Failed"
  | "Unauthenticated"
  | "Forbidden"
  | "InvalidArgument"
  | "Conflict"
  | "LimitExceeded"
  | "TimedOut"
  | "Unreachable"
  | "OutcomeUnknown"
  | "Unsupported"
  | "Internal";

export interface ErrorDetails {
  /** The status of the HTTP response. */
  readonly status?: number;
  /** The reason in the server's own words, for example `SandboxStarting` or `NOT_FOUND`. */
  readonly serverReason?: string;
  /** The beginning of the response body. */
  readonly body?: string;
  readonly cause?: unknown;
}

/** The only error that calls of this SDK reject with, except the reason of an aborted signal. It never contains a credential. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
  readonly reason: ErrorReason;
  readonly status: number | undefined;
  readonly serverReason: string | undefined;
  readonly body: string | undefined;

  constructor(reason: ErrorReason, message: string, { status, serverReason, body, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.status = status;
    this.serverReason = serverReason;
    this.body = body;
  }
}

/** Whether a call failed for this reason. A program may have loaded the SDK twice, so this compares names instead of classes. */
export function isSandboxError(error: unknown, reason?: ErrorReason): error is SandboxError {
  const isOurs = error instanceof Error && error.name === "SandboxError" && "reason" in error;
  return isOurs && (reason === undefined || error.reason === reason);
}

import type { Deadline } from "./deadline.ts";
import { type ErrorDetails, type ErrorReason, SandboxError } from "./errors.ts";
import { ConnectionLost } from "./http/exchange.ts";

/** A failure that may be over soon. */
export class TransientError extends SandboxError {
  /** Whether the call may have had an effect. */
  readonly sent: boolean;

  constructor(reason: ErrorReason, message: string, { sent, ...details }: ErrorDetails & { readonly sent: boolean }) {
    super(reason, message, details);
    this.sent = sent;
  }
}

export interface RetryOptions {
  readonly deadline: Deadline;
  /**
   * Whether the call has the same effect if it is sent twice: it only reads, or it describes the final state, or the server
   * recognises its request id. Other calls are repeated only if the server has certainly not received them.
   */
  readonly isRepeatable: boolean;
  /** Whether the call only reads, so that a lost one had no effect. Default: false. */
  readonly isRead?: boolean;
  /** The beginning of the error message, for example `Cannot run the command`. */
  readonly doing: string;
}

const firstPauseMs = 50;
const longestPauseMs = 2000;

/**
 * Repeats a call until it succeeds, fails for good, or its deadline has passed. Then the last failure is reported; if an attempt may
 * have had an effect, as `OutcomeUnknown`.
 */
export async function retry<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { deadline, isRepeatable, isRead = false, doing } = options;
  let wasSent = false;
  for (let number = 1; ; number++) {
    deadline.signal.throwIfAborted();
    let failure: TransientError;
    try {
      return await attempt(number);
    } catch (error) {
      failure = asTransient(error, doing);
    }
    wasSent ||= failure.sent && !isRead;
    if (failure.sent && !isRepeatable) throw outcomeUnknown(failure, doing);
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (number - 1)) * (0.5 + Math.random() / 2);
    if (pauseMs >= deadline.remainingMs) throw wasSent ? outcomeUnknown(failure, doing) : failure;
    await deadline.sleep(pauseMs);
  }
}

function asTransient(error: unknown, doing: string): TransientError {
  if (error instanceof TransientError) return error;
  if (!(error instanceof ConnectionLost)) throw error;
  return new TransientError("Unreachable", `${doing}: ${error.message}`, { sent: error.sent, cause: error });
}

function outcomeUnknown({ status, serverReason, body, cause, message }: TransientError, doing: string): SandboxError {
  const text = `${doing}: the connection was lost, and it is not known whether the call had an effect (${message})`;
  return new SandboxError("OutcomeUnknown", text, {
    ...(status !== undefined && { status }),
    ...(serverReason !== undefined && { serverReason }),
    ...(body !== undefined && { body }),
    cause,
  });
}

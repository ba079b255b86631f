import { type CallOptions, Deadline } from "../deadline.ts";
import type { SpanOptions, TraceHeaders, Tracing } from "./tracing.ts";

/** One call of the SDK, which may consist of several requests. */
export interface Operation extends SpanOptions {
  /** The beginning of the error message, for example `Cannot run the command`. */
  readonly doing: string;
  readonly options: CallOptions;
  /** The timeout if the options have none. */
  readonly defaultMs: number;
  /** The trace of the operation that this call is a part of. It then has no span of its own. */
  readonly within?: TraceHeaders | undefined;
}

/** Runs an operation with its deadline and, if the program collects traces, its span. */
export async function operate<T>(
  tracing: Tracing | undefined,
  operation: Operation,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const { options, defaultMs, doing, within } = operation;
  const span = within === undefined ? tracing?.start(operation) : undefined;
  try {
    using deadline = new Deadline({ ...options, headers: within ?? span?.headers }, defaultMs, doing);
    return await (span === undefined ? work(deadline) : span.run(() => work(deadline)));
  } catch (error) {
    span?.fail(error);
    throw error;
  } finally {
    span?.end();
  }
}

/** The same for an operation that returns a stream. Its span ends with the iteration. */
export async function* operateStream<T>(
  tracing: Tracing | undefined,
  operation: Operation,
  work: (deadline: Deadline) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const { options, defaultMs, doing } = operation;
  const span = tracing?.start(operation);
  try {
    using deadline = new Deadline({ ...options, headers: span?.headers }, defaultMs, doing);
    yield* work(deadline);
  } catch (error) {
    span?.fail(error);
    throw error;
  } finally {
    span?.end();
  }
}

import type { Dispatcher } from "undici";
import { KubeError } from "../../errors.ts";
import { connectionError } from "./connection-error.ts";
import type { ConnectionPool } from "./connection-pool.ts";

export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** How many bytes are buffered for a busy reader before the connection is paused. */
const highWaterBytes = 1 << 20;

/** A request and its streamed response. `chunks` may be read once. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly head: Promise<Head>;
  readonly #server: string;
  readonly #request: string;
  readonly #signal: AbortSignal | undefined;
  readonly #resolveHead: (head: Head) => void;
  readonly #rejectHead: (error: KubeError) => void;
  readonly #onAbort = (): void =>
    this.#fail(connectionError(new Error("the request was cancelled", { cause: this.#signal?.reason }), this.#place));
  #controller: Dispatcher.DispatchController | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #sent = false;
  /** Set once, when the response is complete or has failed. */
  #outcome: { readonly error?: KubeError } | undefined;
  #wake: (() => void) | undefined;

  constructor(pool: ConnectionPool, options: Dispatcher.DispatchOptions, signal: AbortSignal | undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<Head>();
    this.head = promise;
    // Prevent an unhandled rejection when only the chunks are read.
    promise.catch(() => undefined);
    this.#resolveHead = resolve;
    this.#rejectHead = reject;
    this.#server = String(options.origin);
    this.#request = `${options.method} "${options.path}"`;
    this.#signal = signal;
    if (signal?.aborted) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    pool.dispatch(options, this);
  }

  /** Closes the connection unless the response is complete. */
  abort(state: string): void {
    if (!this.#outcome) this.#fail(connectionError(new Error(state), this.#place));
  }

  /** The body as it arrives. Throws the `KubeError` that ended it. Leaving the loop early closes the connection. */
  async *chunks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    try {
      for (;;) {
        if (this.#queue.length > 0) {
          const chunks = this.#queue;
          this.#queue = [];
          this.#queuedBytes = 0;
          if (this.#controller?.paused) this.#controller.resume();
          yield chunks;
        } else if (this.#outcome) {
          if (this.#outcome.error) throw this.#outcome.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.abort("the reader stopped");
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // A pool waits for a connection before it starts a request; the request may have been cancelled meanwhile.
    if (this.#outcome) controller.abort(this.#outcome.error ?? new Error("cancelled"));
    else this.#sent = true;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    raw: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(raw)) {
      if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
    }
    this.#resolveHead({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes > highWaterBytes) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    this.#settle({});
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(connectionError(error, this.#place));
  }

  get #place(): { server: string; request: string; sent: boolean } {
    return { server: this.#server, request: this.#request, sent: this.#sent };
  }

  #fail(error: KubeError): void {
    if (this.#outcome) return;
    this.#settle({ error });
    this.#rejectHead(error);
    this.#controller?.abort(error);
  }

  #settle(outcome: { readonly error?: KubeError }): void {
    this.#outcome ??= outcome;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

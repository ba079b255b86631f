import type { WatchEvent } from "../transport.ts";

/** The event stream of an open watch, read in batches. */
export class WatchStream implements AsyncIterable<readonly WatchEvent[]> {
  #events: WatchEvent[] = [];
  #ending: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;
  readonly #onClose: () => void;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  push(event: WatchEvent): void {
    if (this.#ending === undefined) this.#events.push(event);
    this.#wake?.();
  }

  /** Ends the stream: normally after the pending events, or with an error at once. */
  end(ending: { readonly error?: unknown } = {}): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    if (ending.error !== undefined) this.#events = [];
    this.#onClose();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly WatchEvent[], void, undefined> {
    try {
      for (;;) {
        if (this.#events.length > 0) {
          const batch = this.#events;
          this.#events = [];
          yield batch;
        } else if (this.#ending !== undefined) {
          if (this.#ending.error !== undefined) throw this.#ending.error;
          return;
        } else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.end();
    }
  }
}

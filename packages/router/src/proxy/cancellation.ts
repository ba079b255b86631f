/** A caller that is no longer there gets no answer. */
export class CallerGone extends Error {
  override readonly name = "CallerGone";

  constructor() {
    super("The caller hung up");
  }
}

/** Ends one request early, for one reason. Costs nothing until somebody wants a signal. */
export class Cancellation {
  reason: Error | undefined;
  /** Told once, at most. */
  onCancel: ((reason: Error) => void) | undefined;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.reason !== undefined) this.#controller.abort(this.reason);
    return this.#controller.signal;
  }

  cancel(reason: Error): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.#controller?.abort(reason);
    this.onCancel?.(reason);
  }

  throwIfCancelled(): void {
    if (this.reason !== undefined) throw this.reason;
  }
}

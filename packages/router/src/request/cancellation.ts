/** The client disconnected, so there is nobody to send a response to. */
export class ClientDisconnected extends Error {
  override readonly name = "ClientDisconnected";

  constructor() {
    super("The client disconnected");
  }
}

/** Cancels one request, with the first reason given. Like an AbortController, but cheap until a signal is needed. */
export class Cancellation {
  reason: Error | undefined;
  /** Called at most once. */
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

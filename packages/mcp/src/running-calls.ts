/** Calls that have not ended, so that a server can wait until their commands are killed. */
export class RunningCalls {
  readonly #running = new Set<Promise<void>>();

  add(call: Promise<unknown>): void {
    const settled = call.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(settled);
    void settled.then(() => this.#running.delete(settled));
  }

  /** Resolves when all calls have ended, or after this time. */
  async ended(longestMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, longestMs);
    await Promise.race([Promise.all(this.#running), promise]);
    clearTimeout(timer);
  }
}

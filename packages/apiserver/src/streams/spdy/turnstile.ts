/** A condition variable: `open` resolves all current waits. */
export class Turnstile {
  #waiting: PromiseWithResolvers<void> | undefined;

  wait(): Promise<void> {
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  open(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}

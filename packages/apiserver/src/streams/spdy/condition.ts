/** A condition variable: `notifyAll` resolves all current waits. */
export class Condition {
  #waiting: PromiseWithResolvers<void> | undefined;

  wait(): Promise<void> {
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  notifyAll(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}

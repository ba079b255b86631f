/** Work with lower priority slows down but never stops. */
const fewest = 2;

/**
 * Gives one controller priority over others that use the same API server: work that somebody waits for runs before work
 * that can be done later. The controller with priority reports its number of keys. The more keys it has, the fewer workers
 * the other controllers use, so that its requests do not queue behind theirs.
 */
export class ControllerPriority {
  readonly #onIdle = new Set<() => void>();
  #keys = 0;

  /** Called by the controller with priority: how many keys are ready or being reconciled. */
  reportKeys(keys: number): void {
    const hadKeys = this.#keys > 0;
    this.#keys = keys;
    if (hadKeys && keys === 0) for (const listener of this.#onIdle) listener();
  }

  /** How many of its workers a controller without priority may use now. */
  limit(workers: number): number {
    return Math.min(workers, Math.max(fewest, Math.ceil(workers / (1 + this.#keys))));
  }

  /** Calls the listener whenever the controller with priority has no more keys. */
  onIdle(listener: () => void): Disposable {
    this.#onIdle.add(listener);
    return { [Symbol.dispose]: () => this.#onIdle.delete(listener) };
  }
}

/** Work with lower priority slows down but never stops. */
const fewest = 2;

/**
 * Gives one controller priority over others that use the same API server: work that somebody waits for runs before work
 * that can be done later. The controller with priority reports its number of keys. The more keys it has, the fewer workers
 * the other controllers use, so that its requests do not queue behind theirs.
 */
export class RightOfWay {
  readonly #onFree = new Set<() => void>();
  #keys = 0;

  /** Called by the controller with priority: how many keys are ready or being reconciled. */
  tell(keys: number): void {
    const wasTaken = this.#keys > 0;
    this.#keys = keys;
    if (wasTaken && keys === 0) for (const listener of this.#onFree) listener();
  }

  /** How many of its workers a controller without priority may use now. */
  limit(workers: number): number {
    return Math.min(workers, Math.max(fewest, Math.ceil(workers / (1 + this.#keys))));
  }

  /** Calls the listener whenever the controller with priority has no more keys. */
  onFree(listener: () => void): Disposable {
    this.#onFree.add(listener);
    return { [Symbol.dispose]: () => this.#onFree.delete(listener) };
  }
}

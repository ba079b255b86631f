/** Who gives way slows down and does not stand still. */
const fewest = 2;

/**
 * Lets one kind of work go before others that want the same server: what somebody waits for before what can be done a
 * moment later. Whoever goes first tells how much it has to do; the more that is, the less do those who give way at a time,
 * so that no request of the first waits behind many of theirs.
 */
export class RightOfWay {
  readonly #onFree = new Set<() => void>();
  #keys = 0;

  /** Told by the one who goes first: how many keys are ready or being worked on. */
  tell(keys: number): void {
    const wasTaken = this.#keys > 0;
    this.#keys = keys;
    if (wasTaken && keys === 0) for (const listener of this.#onFree) listener();
  }

  /** How many of so many may be done at the same time now, by one who gives way. */
  limit(workers: number): number {
    return Math.min(workers, Math.max(fewest, Math.ceil(workers / (1 + this.#keys))));
  }

  /** Calls back whenever nothing goes first any more. */
  onFree(listener: () => void): Disposable {
    this.#onFree.add(listener);
    return { [Symbol.dispose]: () => this.#onFree.delete(listener) };
  }
}

import { KeyCounts } from "@agent-sandbox/kube";

export interface FairLimiterOptions {
  /** Functions that run at the same time. */
  readonly total: number;
  /** Functions of one key that run at the same time. Less than the total, so that no key can take all slots. */
  readonly perKey: number;
}

/**
 * Limits how many functions run at the same time, in total and per key. A free slot goes to the key that has waited longest
 * since its last turn, so a key with a thousand waiting functions delays another key by one function at most.
 */
export class FairLimiter {
  readonly #options: FairLimiterOptions;
  /** Waiting functions by key, in the order in which the keys get their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new KeyCounts();

  constructor(options: FairLimiterOptions) {
    this.#options = options;
  }

  /** Waits for a slot and runs the function. Rejects if the signal is aborted before it has a slot. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#hasSlot(key)) this.#running.add(key);
    else await this.#turn(key, signal);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  #hasSlot(key: string): boolean {
    return this.#running.total < this.#options.total && this.#running.of(key) < this.#options.perKey;
  }

  #turn(key: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, queue);
    const enter = (): void => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    };
    const giveUp = (): void => {
      queue.splice(queue.indexOf(enter), 1);
      if (queue.length === 0 && this.#waiting.get(key) === queue) this.#waiting.delete(key);
      reject(signal?.reason as Error);
    };
    queue.push(enter);
    signal?.addEventListener("abort", giveUp, { once: true });
    return promise;
  }

  #leave(key: string): void {
    this.#running.add(key, -1);
    for (const [next, queue] of this.#waiting) {
      if (!this.#hasSlot(next)) continue;
      const enter = queue.shift();
      this.#waiting.delete(next);
      // A key that still has waiting functions goes to the end.
      if (queue.length > 0) this.#waiting.set(next, queue);
      if (enter === undefined) continue;
      this.#running.add(next);
      enter();
      return;
    }
  }
}

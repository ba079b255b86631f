import { type Scheduler, systemScheduler } from "./scheduler.ts";

/** Work with lower priority slows down but does not stop for longer than the hold. */
const fewest = 2;

export interface PriorityOptions {
  /** For how long other controllers start nothing after the one with priority got keys. Default 0. */
  readonly holdMs?: number;
  readonly scheduler?: Scheduler;
}

/**
 * Gives one controller priority over others that use the same API server: work that somebody waits for runs before work
 * that can be done later. The controller with priority reports its number of keys. At first the others start nothing, so that a
 * short burst is not slowed down at all. After the hold, the more keys it has, the fewer workers the others use, so that its
 * requests do not queue behind theirs (ADR 53).
 */
export class ControllerPriority {
  readonly #onRaised = new Set<() => void>();
  readonly #holdMs: number;
  readonly #scheduler: Scheduler;
  #hold: Disposable | undefined;
  #keys = 0;

  constructor({ holdMs = 0, scheduler = systemScheduler }: PriorityOptions = {}) {
    this.#holdMs = holdMs;
    this.#scheduler = scheduler;
  }

  /** Called by the controller with priority: how many keys are ready or being reconciled. */
  reportKeys(keys: number): void {
    const hadKeys = this.#keys > 0;
    this.#keys = keys;
    if (!hadKeys && keys > 0 && this.#holdMs > 0) {
      this.#hold = this.#scheduler.schedule(this.#holdMs, () => this.#release());
    }
    if (hadKeys && keys === 0) this.#release();
  }

  /** How many of its workers a controller without priority may use now. */
  limit(workers: number): number {
    if (this.#hold !== undefined) return 0;
    return Math.min(workers, Math.max(fewest, Math.ceil(workers / (1 + this.#keys))));
  }

  /** Calls the listener when the hold has ended, and whenever the controller with priority has no more keys. */
  onRaised(listener: () => void): Disposable {
    this.#onRaised.add(listener);
    return { [Symbol.dispose]: () => this.#onRaised.delete(listener) };
  }

  #release(): void {
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
    for (const listener of this.#onRaised) listener();
  }
}

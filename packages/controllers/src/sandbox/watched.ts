/**
 * States that only time makes worth acting on:
 * - `quiet`: no activity and no change of the spec; `ready`: the same, with a Pod that was ready all the while.
 * - `failed`: the Pod has failed and waits to be replaced.
 * - `drift`: the Pod's metadata is behind its template.
 * - `scheduled`: the Pod has a node and is not ready yet.
 * - `unreported`: a pool's member of which nothing has been said yet.
 */
export type Aspect = "quiet" | "ready" | "failed" | "drift" | "scheduled" | "unreported";

/** What identifies each state that holds now. */
export type States = Readonly<Partial<Record<Aspect, string>>>;
/** For how many milliseconds each has been seen to hold. */
export type Watched = Readonly<Partial<Record<Aspect, number>>>;

/**
 * Remembers since when states have held, on a monotonic clock: no jump of the machine's clock makes anything happen
 * early, and what was not watched does not count. A restart begins anew: late, never early. One small entry for each
 * key with a state that holds.
 */
export class StateWatch {
  readonly #now: () => number;
  readonly #since = new Map<string, Partial<Record<Aspect, { readonly identity: string; readonly at: number }>>>();

  /** `now` must be monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#since.size;
  }

  look(key: string, states: States): Watched {
    const before = this.#since.get(key);
    const now = this.#now();
    const entries = Object.entries(states) as [Aspect, string][];
    const kept = entries.map(([aspect, identity]) => {
      const known = before?.[aspect];
      return [aspect, known?.identity === identity ? known : { identity, at: now }] as const;
    });
    if (kept.length > 0) this.#since.set(key, Object.fromEntries(kept));
    else this.#since.delete(key);
    return Object.fromEntries(kept.map(([aspect, { at }]) => [aspect, now - at]));
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}

import type { Change } from "./store.ts";

export interface HistoryBounds {
  /** Changes kept for each resource. */
  readonly maxChanges: number;
  readonly maxAgeMs: number;
}

/** As long as etcd keeps revisions under kube-apiserver; the count caps what a storm of writes can hold in memory. */
export const defaultHistoryBounds: HistoryBounds = { maxChanges: 8192, maxAgeMs: 5 * 60_000 };

/**
 * The recent changes of one resource. Readers keep a position, a running number that stays valid while older changes
 * are dropped, so that a slow reader costs nothing and learns that it has fallen behind.
 */
export class History {
  #changes: Change[] = [];
  #dropped = 0;
  #floor: number;

  /** `floor`: the revision up to which changes are unknown. */
  constructor(floor: number) {
    this.#floor = floor;
  }

  get floor(): number {
    return this.#floor;
  }

  append(change: Change): void {
    this.#changes.push(change);
  }

  /** The position after every change up to `revision`. */
  position(revision: number): number | undefined {
    if (revision < this.#floor) return undefined;
    return this.#dropped + this.#firstAfter(revision);
  }

  read(position: number, limit: number): { changes: readonly Change[]; next: number } | undefined {
    const from = position - this.#dropped;
    if (from < 0) return undefined;
    const changes = this.#changes.slice(from, from + limit);
    return { changes, next: position + changes.length };
  }

  after(revision: number): readonly Change[] | undefined {
    return revision < this.#floor ? undefined : this.#changes.slice(this.#firstAfter(revision));
  }

  /** Whether it is time to trim. A slack of an eighth keeps the cost per change constant. */
  overfull(bounds: HistoryBounds): boolean {
    return this.#changes.length > bounds.maxChanges + (bounds.maxChanges >>> 3);
  }

  /** Drops what the bounds no longer allow and returns it. */
  trim(bounds: HistoryBounds, nowMs: number): readonly Change[] {
    let count = Math.max(0, this.#changes.length - bounds.maxChanges);
    while ((this.#changes[count]?.atMs ?? Number.POSITIVE_INFINITY) < nowMs - bounds.maxAgeMs) count += 1;
    if (count === 0) return [];
    const removed = this.#changes.slice(0, count);
    this.#changes = this.#changes.slice(count);
    this.#dropped += count;
    this.#floor = (removed.at(-1) as Change).revision;
    return removed;
  }

  #firstAfter(revision: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle] as Change).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

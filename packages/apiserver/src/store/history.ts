import { getHeapStatistics } from "node:v8";
import type { Change } from "./store.ts";

export interface HistoryBounds {
  /** Changes kept for each resource. */
  readonly maxChanges: number;
  readonly maxAgeMs: number;
  /** Of the JSON of those changes, in characters. Default: 64 MiB, or less with a heap below 4 GiB. */
  readonly maxLength?: number;
}

/** As long as etcd keeps revisions under kube-apiserver; the rest caps what a storm of writes can hold in memory. */
export const defaultHistoryBounds: HistoryBounds = { maxChanges: 8192, maxAgeMs: 5 * 60_000 };

/** A dozen kinds can be written by tenants: with a small heap, their histories together must leave room for the rest. */
const defaultMaxLength = Math.min(64 * 1024 * 1024, getHeapStatistics().heap_size_limit / 64);

/** A slack of an eighth keeps the cost per change constant. */
const withSlack = (bound: number): number => bound + (bound >>> 3);

const lengthOf = ({ stored }: Change): number => stored?.json.length ?? 0;

/**
 * The recent changes of one resource. Readers keep a position, a running number that stays valid while older changes
 * are dropped, so that a slow reader costs nothing and learns that it has fallen behind.
 */
export class History {
  #changes: Change[] = [];
  #length = 0;
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
    this.#length += lengthOf(change);
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

  /** Whether it is time to trim. */
  overfull({ maxChanges, maxLength = defaultMaxLength }: HistoryBounds): boolean {
    return this.#changes.length > withSlack(maxChanges) || this.#length > withSlack(maxLength);
  }

  /** Drops what the bounds no longer allow and returns it. */
  trim(bounds: HistoryBounds, nowMs: number): readonly Change[] {
    const { maxChanges, maxAgeMs, maxLength = defaultMaxLength } = bounds;
    const mayStay = (change: Change, at: number): boolean =>
      this.#changes.length - at <= maxChanges && this.#length <= maxLength && change.atMs >= nowMs - maxAgeMs;
    let count = 0;
    for (const change of this.#changes) {
      if (mayStay(change, count)) break;
      this.#length -= lengthOf(change);
      count += 1;
    }
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

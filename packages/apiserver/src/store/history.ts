import { getHeapStatistics } from "node:v8";
import type { Change } from "./store.ts";

export interface HistoryBounds {
  /** Changes kept for each resource. */
  readonly maxChanges: number;
  readonly maxAgeMs: number;
  /** Characters of JSON kept for each resource. Default: 64 Mi, or less with a heap below 4 GiB. */
  readonly maxLength?: number;
}

/** The age is that of kube-apiserver's compaction of etcd. The count bounds memory under many writes. */
export const defaultHistoryBounds: HistoryBounds = { maxChanges: 8192, maxAgeMs: 5 * 60_000 };

/** Tenants can write about a dozen kinds, whose histories together must fit into a small heap. */
const defaultMaxLength = Math.min(64 * 1024 * 1024, getHeapStatistics().heap_size_limit / 64);

/** Trimming only after an eighth too many keeps the cost per change constant. */
const withSlack = (bound: number): number => bound + (bound >>> 3);

const lengthOf = ({ stored }: Change): number => stored?.json.length ?? 0;

/**
 * The recent changes of one resource. A reader keeps a position, which stays valid when older changes are dropped, so a slow
 * reader uses no memory and finds out when it has fallen behind.
 */
export class History {
  #changes: Change[] = [];
  #length = 0;
  #dropped = 0;
  #floor: number;

  /** `floor`: changes up to this revision are not in the history. */
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

  /** Whether `trim` should be called. */
  overfull({ maxChanges, maxLength = defaultMaxLength }: HistoryBounds): boolean {
    return this.#changes.length > withSlack(maxChanges) || this.#length > withSlack(maxLength);
  }

  /** Drops the changes that exceed the bounds, and returns them. */
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

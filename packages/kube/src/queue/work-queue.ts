import { type Backoff, backoffMs } from "./backoff.ts";
import { FairLane, type Place } from "./fair-lane.ts";
import { Heap, type HeapItem } from "./heap.ts";
import { type Scheduler, systemScheduler } from "./scheduler.ts";

/** `live` keys are taken before `background` keys: recent changes come before the objects of a first list or a resync. */
export type Priority = "live" | "background";

export interface AddOptions {
  /** Default `live`. */
  readonly priority?: Priority;
  /** Default 0. */
  readonly afterMs?: number;
}

/** How the reconcile of a key ended. `failed` increases the backoff; the other two reset it. */
export type Outcome =
  | { readonly type: "done" }
  | { readonly type: "again"; readonly afterMs: number }
  /** `atLeastMs` is the server's `Retry-After`: until then not even an event makes the key ready. */
  | { readonly type: "failed"; readonly atLeastMs?: number | undefined };

export interface QueueMetrics {
  depth?(keys: number): void;
  added?(): void;
  /** `waitedMs`: how long the key was ready before a worker took it. */
  taken?(waitedMs: number): void;
  retried?(): void;
}

export interface WorkQueueOptions {
  /** Called when a key becomes ready, but never from within `take`. */
  readonly onReady: () => void;
  readonly scheduler?: Scheduler;
  readonly backoff?: Backoff;
  readonly metrics?: QueueMetrics;
}

interface Requeue {
  readonly priority: Priority;
  readonly dueAt: number;
}

/** A key that is ready (`place`), delayed (`position`) or running. Keys in none of these states are removed. */
interface Entry extends HeapItem {
  readonly key: string;
  place: Place | undefined;
  readyAt: number;
  running: boolean;
  /** What was requested during the current reconcile. */
  next: Requeue | undefined;
  dueAt: number;
  /** Keys due at the same time become ready in the order in which they were scheduled. */
  order: number;
  priority: Priority;
  failures: number;
  heldUntil: number;
}

/**
 * The keys to reconcile. A key is in the queue once however often it is added, is given to one worker at a time, and has at
 * most one delayed time: the earliest requested since its last reconcile began. Memory is bounded by the number of keys.
 * Times are monotonic.
 */
export class WorkQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #lanes = { live: new FairLane(), background: new FairLane() };
  readonly #delayed = new Heap<Entry>((a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order));
  readonly #scheduler: Scheduler;
  readonly #options: WorkQueueOptions;
  #timer: { readonly dueAt: number; readonly handle: Disposable } | undefined;
  #ready = 0;
  #planned = 0;
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
  }

  /** The number of keys that can be taken now. */
  get depth(): number {
    return this.#ready;
  }

  add(key: string, { priority = "live", afterMs = 0 }: AddOptions = {}): void {
    if (this.#closed) return;
    this.#options.metrics?.added?.();
    const now = this.#scheduler.now();
    const entry = this.#entry(key);
    const dueAt = Math.max(now + Math.max(0, afterMs), entry.heldUntil);
    if (entry.running) entry.next = sooner(entry.next, { priority, dueAt });
    else this.#plan(entry, { priority, dueAt });
  }

  /** The next key of a namespace that `isFull` does not exclude. The key belongs to the caller until `finish`. */
  take(isFull?: (namespace: string) => boolean): string | undefined {
    const key = this.#lanes.live.shift(isFull) ?? this.#lanes.background.shift(isFull);
    if (key === undefined) return undefined;
    const entry = this.#entries.get(key) as Entry;
    entry.place = undefined;
    entry.running = true;
    this.#setReady(this.#ready - 1);
    this.#options.metrics?.taken?.(this.#scheduler.now() - entry.readyAt);
    return key;
  }

  finish(key: string, outcome: Outcome): void {
    const entry = this.#entries.get(key);
    if (entry?.running !== true) throw new Error(`Cannot finish "${key}": it was not taken`);
    entry.running = false;
    const next = sooner(entry.next, this.#own(entry, outcome));
    entry.next = undefined;
    if (next !== undefined && !this.#closed) {
      this.#plan(entry, { priority: next.priority, dueAt: Math.max(next.dueAt, entry.heldUntil) });
    } else this.#entries.delete(key);
  }

  /** Accepts no more keys and drops those that wait. Keys already taken must still be finished. */
  close(): void {
    this.#closed = true;
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = undefined;
    for (const entry of this.#entries.values()) {
      this.#delayed.remove(entry);
      if (entry.place !== undefined) this.#lanes[entry.priority].remove(entry.place);
      if (!entry.running) this.#entries.delete(entry.key);
    }
    this.#setReady(0);
  }

  #own(entry: Entry, outcome: Outcome): Requeue | undefined {
    const now = this.#scheduler.now();
    if (outcome.type !== "failed") {
      entry.failures = 0;
      entry.heldUntil = 0;
      return outcome.type === "again" ? { priority: "live", dueAt: now + Math.max(0, outcome.afterMs) } : undefined;
    }
    entry.failures += 1;
    entry.heldUntil = outcome.atLeastMs === undefined ? 0 : now + outcome.atLeastMs;
    this.#options.metrics?.retried?.();
    return { priority: "live", dueAt: now + backoffMs(entry.failures, this.#options.backoff) };
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        key,
        place: undefined,
        readyAt: 0,
        running: false,
        next: undefined,
        dueAt: 0,
        order: 0,
        priority: "live",
        failures: 0,
        heldUntil: 0,
        position: -1,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #plan(entry: Entry, requeue: Requeue): void {
    const now = this.#scheduler.now();
    if (entry.place !== undefined) {
      if (requeue.dueAt <= now) this.#raise(entry, entry.place, requeue.priority);
      return;
    }
    const isDelayed = entry.position >= 0;
    const { priority, dueAt } = isDelayed ? sooner(entry, requeue) : requeue;
    entry.priority = priority;
    if (isDelayed && dueAt === entry.dueAt) return;
    this.#delayed.remove(entry);
    entry.dueAt = dueAt;
    if (dueAt <= now) {
      entry.readyAt = now;
      entry.place = this.#lanes[priority].push(entry.key);
      this.#setReady(this.#ready + 1);
      this.#options.onReady();
    } else {
      this.#planned += 1;
      entry.order = this.#planned;
      this.#delayed.push(entry);
      this.#armTimer();
    }
  }

  #raise(entry: Entry, place: Place, priority: Priority): void {
    if (entry.priority === "live" || priority === "background") return;
    this.#lanes.background.remove(place);
    entry.priority = "live";
    entry.place = this.#lanes.live.push(entry.key);
  }

  #armTimer(): void {
    const dueAt = this.#delayed.first()?.dueAt;
    if (dueAt === undefined || (this.#timer !== undefined && this.#timer.dueAt <= dueAt)) return;
    this.#timer?.handle[Symbol.dispose]();
    const handle = this.#scheduler.schedule(dueAt - this.#scheduler.now(), () => {
      this.#timer = undefined;
      this.#wakeDue();
      this.#armTimer();
    });
    this.#timer = { dueAt, handle };
  }

  #wakeDue(): void {
    const now = this.#scheduler.now();
    for (let entry = this.#delayed.first(); entry !== undefined && entry.dueAt <= now; entry = this.#delayed.first()) {
      this.#delayed.remove(entry);
      this.#plan(entry, entry);
    }
  }

  #setReady(keys: number): void {
    this.#ready = keys;
    this.#options.metrics?.depth?.(keys);
  }
}

/** Combines two requests: the earlier time and the higher priority. */
function sooner(a: Requeue | undefined, b: Requeue): Requeue;
function sooner(a: Requeue | undefined, b: Requeue | undefined): Requeue | undefined;
function sooner(a: Requeue | undefined, b: Requeue | undefined): Requeue | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    priority: a.priority === "live" || b.priority === "live" ? "live" : "background",
    dueAt: Math.min(a.dueAt, b.dueAt),
  };
}

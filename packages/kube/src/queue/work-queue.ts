import { type Backoff, backoffMs } from "./backoff.ts";
import { FairLane, type Place } from "./fair-lane.ts";
import { Heap, type HeapItem } from "./heap.ts";
import { type Scheduler, systemScheduler } from "./scheduler.ts";

/** `live` is taken before `background`: what someone just changed goes before what a first list or a resync found. */
export type Priority = "live" | "background";

export interface AddOptions {
  /** Default `live`. */
  readonly priority?: Priority;
  /** Default 0. */
  readonly afterMs?: number;
}

/** How a key's pass ended. Only `failed` counts towards the backoff; the other two reset it. */
export type Outcome =
  | { readonly type: "done" }
  | { readonly type: "again"; readonly afterMs: number }
  /** `atLeastMs` is what the server asked for: until then not even an event brings the key back. */
  | { readonly type: "failed"; readonly atLeastMs?: number | undefined };

export interface QueueMetrics {
  depth?(keys: number): void;
  added?(): void;
  /** How long the key was ready before a worker took it. */
  taken?(waitedMs: number): void;
  retried?(): void;
}

export interface WorkQueueOptions {
  /** Called, at any time but never from within `take`, when a key has become ready. */
  readonly onReady: () => void;
  readonly scheduler?: Scheduler;
  readonly backoff?: Backoff;
  readonly metrics?: QueueMetrics;
}

interface Wish {
  readonly priority: Priority;
  readonly dueAt: number;
}

/** One key, which is ready (`place`), delayed (`position`) or running; a key that is none of them is forgotten. */
interface Entry extends HeapItem {
  readonly key: string;
  place: Place | undefined;
  readyAt: number;
  running: boolean;
  /** What was asked for during the running pass. */
  next: Wish | undefined;
  dueAt: number;
  /** Keys due at the same moment come back in the order they were planned. */
  order: number;
  priority: Priority;
  failures: number;
  heldUntil: number;
}

/**
 * The keys that want a pass. A key is in it once however often it is added, is handed to one worker at a time, and has
 * at most one time at which it comes back by itself: the earliest asked for since its last pass began. Memory is bounded
 * by the number of keys. Times are monotonic.
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

  /** Keys that could be taken now. */
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

  /** The next key of a namespace that is not full, now this caller's alone until `finish`. */
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

  /** Takes no more keys and drops those that wait. Keys already taken still have to be finished. */
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

  #own(entry: Entry, outcome: Outcome): Wish | undefined {
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

  #plan(entry: Entry, wish: Wish): void {
    const now = this.#scheduler.now();
    if (entry.place !== undefined) {
      if (wish.dueAt <= now) this.#raise(entry, entry.place, wish.priority);
      return;
    }
    const isDelayed = entry.position >= 0;
    const { priority, dueAt } = isDelayed ? sooner(entry, wish) : wish;
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

/** Of two wishes the earlier time and the higher priority. */
function sooner(a: Wish | undefined, b: Wish): Wish;
function sooner(a: Wish | undefined, b: Wish | undefined): Wish | undefined;
function sooner(a: Wish | undefined, b: Wish | undefined): Wish | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    priority: a.priority === "live" || b.priority === "live" ? "live" : "background",
    dueAt: Math.min(a.dueAt, b.dueAt),
  };
}

import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { History, HistoryBounds } from "./history.ts";
import type { Journal } from "./journal.ts";

/** A checkpoint merges the write-ahead log after this time without writes. */
const idleMs = 1000;
/** The longest time that steady writes delay that. */
const maxCheckpointDelayMs = 30_000;

export interface CompactorOptions {
  readonly journal: Journal;
  readonly histories: ReadonlyMap<string, History>;
  readonly bounds: HistoryBounds;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Trims the histories and deletes the journal rows that neither they nor the current objects need. */
export class Compactor {
  readonly #options: CompactorOptions;
  /**
   * Rows to delete. They are kept here until the journal has deleted them: if the row that replaced an older one were
   * deleted first, the next start would restore the older object.
   */
  #garbage: number[] = [];
  #floors = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #checkpointAtMs = 0;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /** Call after each commit. Trims histories that are too long at once, and does the rest when the store is idle. */
  afterCommit(): void {
    const { histories, bounds, clock, journal } = this.#options;
    for (const history of histories.values()) {
      if (history.overfull(bounds)) return this.#attempt(() => this.compact());
    }
    if (journal.needsCheckpoint) this.#attempt(() => journal.checkpoint());
    const overdue = clock.now() - this.#checkpointAtMs > maxCheckpointDelayMs;
    if (this.#timer !== undefined && !overdue) this.#timer.refresh();
    this.#timer ??= setTimeout(() => this.#checkpoint(), idleMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Trims the histories and deletes the rows that only they needed. */
  compact(): void {
    const { histories, bounds, clock, journal } = this.#options;
    const nowMs = clock.now();
    for (const [resource, history] of histories) {
      const dropped = history.trim(bounds, nowMs);
      if (dropped.length > 0) this.#floors.set(resource, history.floor);
      for (const { revision, stored, previous } of dropped) {
        if (previous !== undefined) this.#garbage.push(previous.revision);
        if (stored === undefined) this.#garbage.push(revision);
      }
    }
    if (this.#floors.size === 0) return;
    journal.compact({ revisions: this.#garbage, floors: this.#floors });
    this.#garbage = [];
    this.#floors = new Map();
  }

  #checkpoint(): void {
    this.#timer = undefined;
    this.#checkpointAtMs = this.#options.clock.now();
    this.#attempt(() => {
      this.compact();
      this.#options.journal.checkpoint();
    });
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "store could not be compacted");
    }
  }
}

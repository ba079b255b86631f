import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { History, HistoryBounds } from "./history.ts";
import type { Journal } from "./journal.ts";

/** How long the store rests before its log is folded into the main file. */
const idleMs = 1000;
/** How long steady writes can put that off. */
const maxUntidyMs = 30_000;

export interface HouseKeeperOptions {
  readonly journal: Journal;
  readonly histories: ReadonlyMap<string, History>;
  readonly bounds: HistoryBounds;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps the histories within their bounds, and the journal to what they and the current objects need. */
export class HouseKeeper {
  readonly #options: HouseKeeperOptions;
  /** Rows that nothing needs any more. They stay here until they are deleted: an older row without the newer one that
   * replaced it would come back to life at the next start. */
  #garbage: number[] = [];
  #floors = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #tidiedAtMs = 0;

  constructor(options: HouseKeeperOptions) {
    this.#options = options;
  }

  /** To be called after each commit: trims at once what has grown too long, and leaves the rest for a quiet moment. */
  afterCommit(): void {
    const { histories, bounds, clock, journal } = this.#options;
    for (const history of histories.values()) {
      if (history.overfull(bounds)) return this.#attempt(() => this.compact());
    }
    if (journal.overdue) this.#attempt(() => journal.tidy());
    const overdue = clock.now() - this.#tidiedAtMs > maxUntidyMs;
    if (this.#timer !== undefined && !overdue) this.#timer.refresh();
    this.#timer ??= setTimeout(() => this.#tidy(), idleMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Drops what is too old or too much from the histories, and what only they needed from the journal. */
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

  #tidy(): void {
    this.#timer = undefined;
    this.#tidiedAtMs = this.#options.clock.now();
    this.#attempt(() => {
      this.compact();
      this.#options.journal.tidy();
    });
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "store could not be tidied");
    }
  }
}

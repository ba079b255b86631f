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
  /** Rows that nothing needs any more. They stay here until they are deleted, all together: an older row without the newer one
   * that replaced it would come back to life at the next start. */
  #garbage: number[] = [];
  #floors = new Map<string, number>();
  #isCompacting = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #tidiedAtMs = 0;

  constructor(options: HouseKeeperOptions) {
    this.#options = options;
  }

  /** To be called after each commit: trims at once what has grown too long, and leaves the rest for a quiet moment. */
  afterCommit(): void {
    const { histories, bounds, clock, journal } = this.#options;
    for (const history of histories.values()) {
      if (history.overfull(bounds)) return void this.compact();
    }
    if (journal.overdue) void this.#attempt(() => journal.tidy());
    const overdue = clock.now() - this.#tidiedAtMs > maxUntidyMs;
    if (this.#timer !== undefined && !overdue) this.#timer.refresh();
    this.#timer ??= setTimeout(() => void this.#tidy(), idleMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Drops what is too old or too much from the histories, and what only they needed from the journal. */
  async compact(): Promise<void> {
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
    if (this.#floors.size === 0 || this.#isCompacting) return;
    const [revisions, floors] = [this.#garbage, this.#floors];
    [this.#garbage, this.#floors, this.#isCompacting] = [[], new Map(), true];
    if (!(await this.#attempt(() => journal.compact({ revisions, floors })))) {
      this.#garbage = [...revisions, ...this.#garbage];
      this.#floors = new Map([...floors, ...this.#floors]);
    }
    this.#isCompacting = false;
  }

  async #tidy(): Promise<void> {
    this.#timer = undefined;
    this.#tidiedAtMs = this.#options.clock.now();
    await this.compact();
    await this.#attempt(() => this.#options.journal.tidy());
  }

  /** Whether it worked. */
  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!this.#isStopped) this.#options.logger.warn({ err: error }, "store could not be tidied");
      return false;
    }
  }
}

import type { Logger } from "../logger.ts";

/** Items handled concurrently: enough to fill a commit. */
const concurrency = 256;
/** Delay before a failed item is retried, for example when the disk is full. */
const retryMs = 1000;

/** A set of items to handle. Duplicates are merged, and one item is never handled twice at the same time. */
export class WorkSet {
  readonly #waiting = new Set<string>();
  readonly #handle: (item: string) => Promise<void>;
  readonly #logger: Logger;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(handle: (item: string) => Promise<void>, logger: Logger) {
    this.#handle = handle;
    this.#logger = logger;
  }

  add(item: string): void {
    if (this.#stopped) return;
    this.#waiting.add(item);
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    clearTimeout(this.#retry);
    await this.#running;
  }

  async #run(): Promise<void> {
    // Let the caller that added the first item finish first.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values().take(concurrency)];
      for (const item of batch) this.#waiting.delete(item);
      await Promise.all(batch.map((item) => this.#try(item)));
    }
    this.#running = undefined;
  }

  async #try(item: string): Promise<void> {
    try {
      await this.#handle(item);
    } catch (error) {
      if (this.#stopped) return;
      this.#logger.warn({ err: error, item }, "garbage collection failed and will be retried");
      this.#retry = setTimeout(() => this.add(item), retryMs).unref();
    }
  }
}

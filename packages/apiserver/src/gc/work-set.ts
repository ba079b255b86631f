import type { Logger } from "../logger.ts";

/** Items under way at once: enough to fill a commit. */
const concurrency = 256;
/** What failed, because the disk is full for instance, is tried again after this. */
const retryMs = 1000;

/** Things to look at, each once however often it was asked for. Looks never overlap for the same thing. */
export class WorkSet {
  readonly #waiting = new Set<string>();
  readonly #look: (item: string) => Promise<void>;
  readonly #logger: Logger;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(look: (item: string) => Promise<void>, logger: Logger) {
    this.#look = look;
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
    // Whoever added the first item is still at work: let it finish.
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
      await this.#look(item);
    } catch (error) {
      if (this.#stopped) return;
      this.#logger.warn({ err: error, item }, "collection of garbage failed and is tried again");
      this.#retry = setTimeout(() => this.add(item), retryMs).unref();
    }
  }
}

import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Compaction, Journal, JournalRow } from "./journal.ts";
import { type JournalCall, type JournalReply, packRows } from "./journal-call.ts";

interface Waiting {
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** What lives in the thread is passed on within a moment. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** A journal in one SQLite file, kept by a thread of its own. */
export class ThreadJournal implements Journal {
  /** Settles when the thread is there. What is called before waits for it. */
  readonly started: Promise<void>;
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #run = 0;
  #overdue = false;
  #lost: Error | undefined;
  #isClosing = false;

  constructor() {
    const script = new URL(`./journal-thread${extname(import.meta.url)}`, import.meta.url);
    // It says nothing, and must not change how the process writes.
    this.#thread = new Worker(script, { name: "journal", resourceLimits, stdout: true, stderr: true });
    this.started = once(this.#thread, "message").then(() => undefined);
    this.started.catch(() => undefined);
    this.#thread.unref();
    this.#thread.on("message", (reply: JournalReply) => this.#settle(reply));
    this.#thread.on("error", (error) => this.#lose(error as Error));
    this.#thread.on("exit", () => this.#lose(new Error("the thread of the journal has ended")));
  }

  /** To be called once, and before anything else, with a file that `readJournal` has accepted. */
  open(path: string): Promise<void> {
    return this.#call({ do: "open", path });
  }

  append(rows: readonly JournalRow[]): Promise<void> {
    return this.#call({ do: "append", run: this.#run, rows: packRows(rows) });
  }

  compact(compaction: Compaction): Promise<void> {
    return this.#call({ do: "compact", ...compaction });
  }

  get overdue(): boolean {
    return this.#overdue;
  }

  tidy(): Promise<void> {
    this.#overdue = false;
    return this.#call({ do: "tidy" });
  }

  backUp(folder: string, path: string): Promise<void> {
    return this.#call({ do: "backUp", folder, path });
  }

  async close(): Promise<void> {
    if (this.#lost !== undefined) return;
    const ended = once(this.#thread, "exit");
    this.#isClosing = true;
    await this.#call({ do: "close" });
    await ended;
  }

  #call(call: JournalCall): Promise<void> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise((done, failed) => {
      this.#calls += 1;
      if (this.#waiting.size === 0) this.#thread.ref();
      this.#waiting.set(this.#calls, { done, failed });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#thread.postMessage({ ...call, id: this.#calls });
    });
  }

  #settle({ ids, error, run, overdue }: JournalReply): void {
    this.#run = run;
    this.#overdue = overdue;
    for (const id of ids) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.done();
      else waiting?.failed(error);
    }
    if (this.#waiting.size === 0 && !this.#isClosing) this.#thread.unref();
  }

  #lose(error: Error): void {
    this.#lost ??= error;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { failed } of lost) failed(this.#lost);
  }
}

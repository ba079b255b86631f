import type { Logger } from "../logger.ts";
import type { Compaction, Journal, JournalRow } from "./journal.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import { ThreadJournal } from "./thread-journal.ts";

/** A server is ready by then, and does not wait for a thread that starts. */
const defaultMoveAfterMs = 500;

export interface MovingJournalOptions {
  readonly path: string;
  readonly logger: Logger;
  readonly moveAfterMs?: number;
}

/** A journal that is there at once, in the thread of its caller, and soon moves into one of its own. */
export class MovingJournal implements Journal {
  readonly #path: string;
  readonly #here: SqliteJournal;
  readonly #timer: NodeJS.Timeout;
  #starting: ThreadJournal | undefined;
  #there: ThreadJournal | undefined;
  #moved: Promise<void> | undefined;
  #isClosed = false;

  constructor({ path, logger, moveAfterMs = defaultMoveAfterMs }: MovingJournalOptions) {
    this.#path = path;
    this.#here = new SqliteJournal(path);
    const stay = (error: unknown): void => {
      if (!this.#isClosed) logger.warn({ err: error }, "commits stay in the main thread");
    };
    this.#timer = setTimeout(() => void this.move().catch(stay), moveAfterMs).unref();
  }

  get isInThread(): boolean {
    return this.#there !== undefined;
  }

  append(rows: readonly JournalRow[]): Promise<void> {
    return this.#do(
      (there) => there.append(rows),
      (here) => rows.length > 0 && here.append(rows),
    );
  }

  compact(compaction: Compaction): Promise<void> {
    return this.#do(
      (there) => there.compact(compaction),
      (here) => here.compact(compaction),
    );
  }

  get overdue(): boolean {
    return (this.#there ?? this.#here).overdue;
  }

  tidy(): Promise<void> {
    return this.#do(
      (there) => there.tidy(),
      (here) => here.tidy(),
    );
  }

  /** A copy takes its time, in which the file must stay with who copies it. */
  async backUp(folder: string, path: string): Promise<void> {
    await this.move();
    await this.#there?.backUp(folder, path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#starting?.close();
    if (this.#there === undefined) this.#here.close();
  }

  /** Settles when the thread has the file. */
  move(): Promise<void> {
    this.#moved ??= this.#move();
    return this.#moved;
  }

  async #move(): Promise<void> {
    this.#starting = new ThreadJournal();
    await this.#starting.started;
    if (this.#isClosed) return;
    this.#here.close();
    this.#there = this.#starting;
    await this.#there.open(this.#path);
  }

  async #do(
    there: (journal: ThreadJournal) => Promise<void>,
    here: (journal: SqliteJournal) => unknown,
  ): Promise<void> {
    if (this.#there === undefined) here(this.#here);
    else await there(this.#there);
  }
}

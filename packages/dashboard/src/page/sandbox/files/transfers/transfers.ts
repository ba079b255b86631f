/**
 * Uploads and downloads, two at a time, in the order in which they were added. They continue while other views are shown. Nothing here
 * knows how a file is sent: a job does.
 */

const mostActive = 2;
/** More are refused: add them when these are done. */
export const mostTransfers = 1000;
/** Progress is shown this often. */
const everyMs = 100;

export interface Job {
  readonly kind: "upload" | "download";
  readonly name: string;
  /** In bytes, if it is known. */
  readonly size: number | undefined;
  /** Rejects with a `FileExists` if there is a file and `replaces` is false. */
  run(run: Run): Promise<void>;
}

export interface Run {
  readonly signal: AbortSignal;
  readonly replaces: boolean;
  readonly onProgress: (bytes: number) => void;
}

/** There is a file with this name already. */
export class FileExists extends Error {
  override readonly name = "FileExists";
}

export type TransferState = "waiting" | "active" | "done" | "failed" | "exists" | "cancelled";

export interface Transfer {
  readonly id: number;
  readonly job: Job;
  readonly state: TransferState;
  /** Bytes that have moved. */
  readonly moved: number;
  readonly error?: unknown;
}

export interface TransfersOptions {
  /** Called when the first begins and when the last has ended. */
  readonly onActive?: (isActive: boolean) => void;
}

export class Transfers {
  readonly #listeners = new Set<() => void>();
  readonly #running = new Map<number, AbortController>();
  readonly #options: TransfersOptions;
  #all: readonly Transfer[] = [];
  #lastId = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #moved = new Map<number, number>();

  constructor(options: TransfersOptions = {}) {
    this.#options = options;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): readonly Transfer[] => this.#all;

  /** Throws if there are too many. Then it adds none. */
  add(jobs: readonly Job[]): void {
    const unfinished = this.#all.filter(isUnfinished).length;
    if (unfinished + jobs.length > mostTransfers) {
      throw new Error(`At most ${mostTransfers} files at a time: use agent-sandbox cp for more`);
    }
    const added = jobs.map((job): Transfer => ({ id: ++this.#lastId, job, state: "waiting", moved: 0 }));
    const shown = this.#all.length < mostTransfers ? this.#all : this.#all.filter(isUnfinished);
    this.#set([...shown, ...added]);
    this.#next();
  }

  cancel(id: number): void {
    this.#running.get(id)?.abort(new DOMException("Cancelled", "AbortError"));
    this.#change(id, ({ state }) => (state === "waiting" ? { state: "cancelled" } : {}));
  }

  cancelAll(): void {
    for (const { id } of this.#all.filter(isUnfinished)) this.cancel(id);
  }

  /** Runs it again. `replaces`: also if there is a file with this name. */
  retry(id: number, replaces: boolean): void {
    const found = this.#all.find((one) => one.id === id);
    if (found === undefined || isUnfinished(found)) return;
    const { job } = found;
    const again: Job = replaces ? { ...job, run: (run) => job.run({ ...run, replaces: true }) } : job;
    this.#set(this.#all.map((one) => (one.id === id ? { id, job: again, state: "waiting", moved: 0 } : one)));
    this.#next();
  }

  /** Forgets one that has ended. */
  remove(id: number): void {
    this.#set(this.#all.filter((one) => one.id !== id || isUnfinished(one)));
  }

  removeEnded(): void {
    this.#set(this.#all.filter(isUnfinished));
  }

  #next(): void {
    while (this.#running.size < mostActive) {
      const waiting = this.#all.find(({ state }) => state === "waiting");
      if (waiting === undefined) break;
      void this.#run(waiting);
    }
  }

  async #run({ id, job }: Transfer): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    if (this.#running.size === 0) this.#options.onActive?.(true);
    this.#running.set(id, controller);
    this.#change(id, () => ({ state: "active" }));
    const end = await job.run({ signal, replaces: false, onProgress: (bytes) => this.#progress(id, bytes) }).then(
      (): Partial<Transfer> => ({ state: "done" }),
      (error: unknown): Partial<Transfer> =>
        signal.aborted ? { state: "cancelled" } : { state: error instanceof FileExists ? "exists" : "failed", error },
    );
    this.#running.delete(id);
    this.#show();
    this.#change(id, () => end);
    this.#next();
    if (this.#running.size === 0) this.#options.onActive?.(false);
  }

  #progress(id: number, bytes: number): void {
    this.#moved.set(id, bytes);
    this.#timer ??= setTimeout(() => this.#show(), everyMs);
  }

  /** Shows how much has moved. */
  #show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const moved = this.#moved;
    this.#moved = new Map();
    this.#set(this.#all.map((one) => ({ ...one, moved: moved.get(one.id) ?? one.moved })));
  }

  #change(id: number, change: (one: Transfer) => Partial<Transfer>): void {
    this.#set(this.#all.map((one) => (one.id === id ? { ...one, ...change(one) } : one)));
  }

  #set(all: readonly Transfer[]): void {
    this.#all = all;
    for (const listener of this.#listeners) listener();
  }
}

export function isUnfinished({ state }: Transfer): boolean {
  return state === "waiting" || state === "active";
}

import { lastActivityAnnotation, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { type Client, isReason, type Logger, objectKey, type Scheduler } from "@agent-sandbox/kube";
import { decideWrite } from "./decide-write.ts";

export interface ActivityTrackerOptions {
  readonly client: Client;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** The Sandbox as it is now. */
  readonly sandboxByUid: (uid: string) => Sandbox | undefined;
}

interface Entry {
  readonly uid: string;
  open: number;
  lastMs: number;
  writtenMs: number | undefined;
  /** Nothing is to be done for this Sandbox before it fires. */
  timer: Disposable | undefined;
}

const callLimitMs = 5000;
const afterFailureMs = 1000;
const keptAfterWakeMs = 10_000;

/** Knows which sandboxes are in use, and writes that down before they count as idle. An open connection is use. */
export class ActivityTracker implements Disposable {
  readonly #options: ActivityTrackerOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: ActivityTrackerOptions) {
    this.#options = options;
  }

  /** How many sandboxes are kept track of. */
  get size(): number {
    return this.#entries.size;
  }

  /** In use until disposed. */
  begin(sandbox: Sandbox): Disposable {
    const entry = this.touch(sandbox);
    entry.open += 1;
    return {
      [Symbol.dispose]: () => {
        entry.open -= 1;
        entry.lastMs = this.#options.scheduler.date();
        if (entry.timer === undefined) this.#look(entry);
      },
    };
  }

  /** Used at this moment. */
  touch(sandbox: Sandbox): Entry {
    const uid = sandbox.metadata.uid ?? "";
    const lastMs = this.#options.scheduler.date();
    const known = this.#entries.get(uid);
    const entry = known ?? { uid, open: 0, lastMs, writtenMs: undefined, timer: undefined };
    if (known === undefined) this.#entries.set(uid, entry);
    entry.lastMs = lastMs;
    if (entry.timer === undefined) this.#look(entry);
    return entry;
  }

  /** A resume wrote the time itself. */
  wrote(sandbox: Sandbox): void {
    const uid = sandbox.metadata.uid ?? "";
    const writtenMs = this.#options.scheduler.date();
    const entry = this.#entries.get(uid) ?? { uid, open: 0, lastMs: writtenMs, writtenMs, timer: undefined };
    this.#entries.set(uid, entry);
    entry.writtenMs = writtenMs;
    // Kept until the requests that waited have been passed on: the cache may tell of the write only after them.
    if (entry.timer === undefined) this.#again(entry, keptAfterWakeMs);
  }

  /** When this router last saw the Sandbox in use; undefined when it did not. */
  lastMs(uid: string): number | undefined {
    const entry = this.#entries.get(uid);
    return entry?.open ? this.#options.scheduler.date() : entry?.lastMs;
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#entries.values()) timer?.[Symbol.dispose]();
    this.#entries.clear();
  }

  #look(entry: Entry): void {
    const { scheduler, sandboxByUid } = this.#options;
    const now = scheduler.date();
    const sandbox = sandboxByUid(entry.uid);
    const seen = { lastMs: entry.open > 0 ? now : entry.lastMs, writtenMs: entry.writtenMs };
    const decision = sandbox && decideWrite(sandbox, seen, now);
    const isUsed = entry.open > 0;
    if (sandbox === undefined || decision === undefined) {
      if (!isUsed) this.#entries.delete(entry.uid);
    } else if (decision.write) {
      this.#again(entry, callLimitMs);
      void this.#write(entry, sandbox, now);
    } else if (isUsed || entry.lastMs > (entry.writtenMs ?? 0)) {
      this.#again(entry, decision.lookAgainMs - now);
    } else {
      this.#entries.delete(entry.uid);
    }
  }

  #again(entry: Entry, delayMs: number): void {
    entry.timer?.[Symbol.dispose]();
    entry.timer = this.#options.scheduler.schedule(delayMs, () => {
      entry.timer = undefined;
      this.#look(entry);
    });
  }

  async #write(entry: Entry, sandbox: Sandbox, now: number): Promise<void> {
    const { client, log } = this.#options;
    const { name = "", namespace = "", uid = "" } = sandbox.metadata;
    const body = { metadata: { annotations: { [lastActivityAnnotation]: new Date(now).toISOString() } } };
    try {
      const signal = AbortSignal.timeout(callLimitMs);
      await client.patch(sandboxes, { namespace, name }, { type: "merge", body, preconditions: { uid } }, { signal });
      entry.writtenMs = now;
      if (this.#entries.get(uid) === entry) this.#again(entry, 0);
    } catch (error) {
      if (!isReason(error, "NotFound", "Conflict")) {
        log.warn({ sandbox: objectKey(sandbox), err: error }, "activity not written");
      }
      if (this.#entries.get(uid) === entry) this.#again(entry, afterFailureMs);
    }
  }
}

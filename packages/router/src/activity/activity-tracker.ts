import {
  activityChange,
  connectionsKeepAwake,
  decideRecord,
  idleWindowMs,
  type Sandbox,
  sandboxes,
} from "@agent-sandbox/api";
import { type Client, isReason, type Logger, objectKey, type Scheduler } from "@agent-sandbox/kube";

export interface ActivityTrackerOptions {
  readonly client: Client;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** Returns the current version of the Sandbox. */
  readonly sandboxByUid: (uid: string) => Sandbox | undefined;
}

/** One use of a Sandbox. It ends when it is disposed. */
export interface SandboxUse extends Disposable {
  /** From now on it is an open connection. Whether that counts while it is silent is a matter of the Sandbox's idle policy. */
  becomeConnection(): void;
  /** Something was transferred. */
  touch(): void;
}

interface Entry {
  readonly uid: string;
  /** How many requests and sessions are in progress. */
  requests: number;
  /** How many connections are open. */
  connections: number;
  lastMs: number;
  recordedMs: number | undefined;
  /** While it is set, nothing needs to be done for this Sandbox before it fires, unless its idle window changes. */
  timer: Disposable | undefined;
  /** The idle window that the timer is based on. */
  windowMs: number | undefined;
  /** The timer only forgets the entry: a use in the meantime must be checked at once. */
  isEnding: boolean;
}

const callLimitMs = 5000;
const afterFailureMs = 1000;
const keptAfterRecordMs = 10_000;

/**
 * Tracks which Sandboxes are in use and records it in their `last-activity` annotation before they count as idle. A request
 * counts until its response is complete. An open connection counts as well, also without traffic, unless the Sandbox's idle
 * policy says `connections: MaySleep`.
 */
export class ActivityTracker implements Disposable {
  readonly #options: ActivityTrackerOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: ActivityTrackerOptions) {
    this.#options = options;
  }

  /** The number of tracked Sandboxes. */
  get size(): number {
    return this.#entries.size;
  }

  /** Counts the Sandbox as used until the result is disposed. */
  begin(sandbox: Sandbox): SandboxUse {
    const entry = this.#entryOf(sandbox);
    let kind: "requests" | "connections" | undefined = "requests";
    entry.requests += 1;
    this.#used(entry);
    const become = (next: typeof kind): void => {
      if (kind === undefined || kind === next) return;
      // The end of a use counts too, except for a connection that was silent and did not count.
      const wasUsed = isInUse(entry, this.#options.sandboxByUid(entry.uid));
      entry[kind] -= 1;
      kind = next;
      if (next !== undefined) entry[next] += 1;
      if (wasUsed) this.#used(entry);
      else if (entry.timer === undefined) this.#check(entry);
    };
    return {
      becomeConnection: () => become("connections"),
      touch: () => this.#used(entry),
      [Symbol.dispose]: () => become(undefined),
    };
  }

  /** Counts the Sandbox as used at this moment. */
  touch(sandbox: Sandbox): void {
    this.#used(this.#entryOf(sandbox));
  }

  /** Call this when a Sandbox has changed: it may have got another idle policy while it is in use. */
  changed(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    const sandbox = this.#options.sandboxByUid(uid);
    const hasNewWindow = sandbox !== undefined && idleWindowMs(sandbox) !== entry.windowMs;
    if (entry.timer === undefined || hasNewWindow) this.#check(entry);
  }

  /** Call this after a Sandbox was woken, which recorded activity too. */
  recorded(sandbox: Sandbox): void {
    const entry = this.#entryOf(sandbox);
    entry.recordedMs = this.#options.scheduler.date();
    // Keep the entry until the waiting requests have been proxied: the cache may show the write only after that.
    if (entry.timer !== undefined) return;
    this.#checkAfter(entry, keptAfterRecordMs);
    entry.isEnding = true;
  }

  /** When this process last observed activity of the Sandbox; undefined: never. */
  lastMs(uid: string): number | undefined {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return undefined;
    return isInUse(entry, this.#options.sandboxByUid(uid)) ? this.#options.scheduler.date() : entry.lastMs;
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#entries.values()) timer?.[Symbol.dispose]();
    this.#entries.clear();
  }

  #entryOf({ metadata: { uid = "" } }: Sandbox): Entry {
    const known = this.#entries.get(uid);
    if (known !== undefined) return known;
    const lastMs = this.#options.scheduler.date();
    const entry = {
      uid,
      requests: 0,
      connections: 0,
      lastMs,
      recordedMs: undefined,
      timer: undefined,
      windowMs: undefined,
      isEnding: false,
    };
    this.#entries.set(uid, entry);
    return entry;
  }

  #used(entry: Entry): void {
    entry.lastMs = this.#options.scheduler.date();
    if (entry.timer === undefined || entry.isEnding) this.#check(entry);
  }

  #check(entry: Entry): void {
    const { scheduler, sandboxByUid } = this.#options;
    const now = scheduler.date();
    const sandbox = sandboxByUid(entry.uid);
    entry.timer?.[Symbol.dispose]();
    entry.timer = undefined;
    entry.isEnding = false;
    entry.windowMs = sandbox && idleWindowMs(sandbox);
    const isUsed = isInUse(entry, sandbox);
    const observed = { lastMs: isUsed ? now : entry.lastMs, recordedMs: entry.recordedMs };
    const decision = sandbox && decideRecord(sandbox, observed, now);
    if (sandbox === undefined || decision === undefined) {
      this.#forget(entry);
    } else if (decision.record) {
      this.#checkAfter(entry, callLimitMs);
      void this.#record(entry, sandbox, now);
    } else if (isUsed || entry.lastMs > (entry.recordedMs ?? 0)) {
      this.#checkAfter(entry, decision.checkAtMs - now);
    } else {
      this.#forgetLater(entry, now);
    }
  }

  /** Keeps an entry until the cache can be expected to show what was recorded: `lastMs` is the only newer information. */
  #forgetLater(entry: Entry, now: number): void {
    const keptUntilMs = (entry.recordedMs ?? 0) + keptAfterRecordMs;
    if (keptUntilMs <= now) return this.#forget(entry);
    this.#checkAfter(entry, keptUntilMs - now);
    entry.isEnding = true;
  }

  /** While something is open the entry stays, without a timer: a transfer or a change of the Sandbox starts the next check. */
  #forget(entry: Entry): void {
    if (entry.requests + entry.connections === 0) this.#entries.delete(entry.uid);
  }

  #checkAfter(entry: Entry, delayMs: number): void {
    entry.timer?.[Symbol.dispose]();
    entry.timer = this.#options.scheduler.schedule(delayMs, () => {
      entry.timer = undefined;
      this.#check(entry);
    });
  }

  async #record(entry: Entry, sandbox: Sandbox, now: number): Promise<void> {
    const { client, log } = this.#options;
    const { name = "", namespace = "", uid = "" } = sandbox.metadata;
    const patch = { type: "merge", ...activityChange(sandbox, now) } as const;
    try {
      const signal = AbortSignal.timeout(callLimitMs);
      await client.patch(sandboxes, { namespace, name }, patch, { signal });
      entry.recordedMs = now;
      if (this.#entries.get(uid) === entry) this.#checkAfter(entry, 0);
    } catch (error) {
      if (!isReason(error, "NotFound", "Conflict")) {
        log.warn({ sandbox: objectKey(sandbox), err: error }, "activity not recorded");
      }
      if (this.#entries.get(uid) === entry) this.#checkAfter(entry, afterFailureMs);
    }
  }
}

function isInUse({ requests, connections }: Entry, sandbox: Sandbox | undefined): boolean {
  return requests > 0 || (connections > 0 && (sandbox === undefined || connectionsKeepAwake(sandbox)));
}

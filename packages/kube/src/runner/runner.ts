import { type Fence, fenceScope } from "../cache/fence.ts";
import { FencedClient } from "../cache/fenced-client.ts";
import type { Client } from "../client.ts";
import { KubeError } from "../errors.ts";
import type { Backoff } from "../queue/backoff.ts";
import type { RightOfWay } from "../queue/right-of-way.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type AddOptions, type Outcome, type QueueMetrics, WorkQueue } from "../queue/work-queue.ts";
import { parseKey } from "../resource.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { TerminalError } from "./terminal-error.ts";

export interface Result {
  /** Look again after so long, even if nothing changes. */
  readonly requeueAfterMs?: number | undefined;
}

/** What one pass over one key works with. */
export interface Pass {
  /** Aborted when the process cannot wait any longer for the pass to end. */
  readonly signal: AbortSignal;
  /** Its writes are seen by the next pass over the same key. */
  readonly client: Client;
}

/** Brings the world closer to what the object at `key` asks for. Throws to be called again later; see `TerminalError`. */
export type Reconcile = (key: string, pass: Pass) => Promise<Result | void>;

export interface RunnerMetrics extends QueueMetrics {
  reconciled?(result: "success" | "requeue_after" | "error" | "terminal", tookMs: number): void;
  running?(workers: number): void;
}

export interface RunnerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly client: Client;
  readonly fence: Fence;
  /** Keys worked on at the same time. Default 1. */
  readonly workers?: number;
  /** Keys of one namespace worked on at the same time. Default: as many as there are workers. */
  readonly workersPerNamespace?: number;
  /** Told how many keys are ready or being worked on: they go before those of others. */
  readonly goesFirst?: Pick<RightOfWay, "tell">;
  /** Works with fewer workers while others go first. */
  readonly givesWay?: RightOfWay;
  /** How long a stop waits for running passes before it aborts them, and then for them to notice. Default 10 s each. */
  readonly stopWithinMs?: number;
  readonly backoff?: Backoff;
  readonly scheduler?: Scheduler;
  readonly log?: Logger;
  readonly metrics?: RunnerMetrics;
}

/** More keys than this behind their fence, and the watch is in trouble: taking more would flood the server with reads. */
const mostWaiting = 256;

/**
 * Runs passes over keys: one at a time per key, some at a time in all, none before the caches show what the last pass
 * over the key wrote. Waiting for that holds no worker.
 */
export class Runner implements AsyncDisposable {
  readonly #options: RunnerOptions;
  readonly #scheduler: Scheduler;
  readonly #log: Logger;
  readonly #queue: WorkQueue;
  readonly #waiting = new AbortController();
  readonly #working = new AbortController();
  readonly #caughtUp: string[] = [];
  readonly #subscriptions = new DisposableStack();
  #state: "new" | "started" | "stopping" = "new";
  #waiters = 0;
  #busy = 0;
  readonly #busyByNamespace = new Map<string, number>();
  #onIdle: (() => void) | undefined;

  constructor(options: RunnerOptions) {
    const { scheduler = systemScheduler, log = silentLogger, backoff = {}, metrics = {} } = options;
    this.#options = options;
    this.#scheduler = scheduler;
    this.#log = log;
    this.#queue = new WorkQueue({ scheduler, backoff, metrics, onReady: () => this.#pump() });
    const prefix = this.#scope("");
    const onVanished = (scope: string): void => {
      if (scope.startsWith(prefix)) this.add(scope.slice(prefix.length));
    };
    this.#subscriptions.use(options.fence.onVanished(onVanished));
    this.#subscriptions.use(options.givesWay?.onFree(() => this.#pump()));
  }

  add(key: string, options?: AddOptions): void {
    this.#queue.add(key, options);
  }

  /** Keys added before wait for this. */
  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.#pump();
  }

  /** Takes no more keys, lets running passes end, aborts those that do not. */
  async stop(): Promise<void> {
    if (this.#state === "stopping") return;
    this.#state = "stopping";
    this.#subscriptions.dispose();
    this.#queue.close();
    this.#waiting.abort();
    const { stopWithinMs = 10_000 } = this.#options;
    if (await this.#isIdleWithin(stopWithinMs)) return;
    this.#working.abort();
    if (await this.#isIdleWithin(stopWithinMs)) return;
    this.#log.error({ controller: this.#options.name, passes: this.#busy }, "passes did not stop");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #pump(): void {
    this.#takeKeys();
    this.#options.goesFirst?.tell(this.#busy + this.#caughtUp.length + this.#queue.depth);
  }

  #takeKeys(): void {
    const { workers = 1, givesWay } = this.#options;
    while (this.#state === "started" && this.#busy < (givesWay?.limit(workers) ?? workers)) {
      const key = this.#takeCaughtUp() ?? (this.#waiters < mostWaiting ? this.#queue.take(this.#isFull) : undefined);
      if (key === undefined) return;
      if (this.#options.fence.isCaughtUp(this.#scope(key))) void this.#work(key);
      else void this.#wait(key);
    }
  }

  #takeCaughtUp(): string | undefined {
    const index = this.#caughtUp.findIndex((key) => !this.#isFull(namespaceOf(key)));
    return index < 0 ? undefined : this.#caughtUp.splice(index, 1)[0];
  }

  readonly #isFull = (namespace: string): boolean =>
    (this.#busyByNamespace.get(namespace) ?? 0) >= (this.#options.workersPerNamespace ?? Number.POSITIVE_INFINITY);

  #count(key: string, change: 1 | -1): void {
    const namespace = namespaceOf(key);
    const now = (this.#busyByNamespace.get(namespace) ?? 0) + change;
    if (now === 0) this.#busyByNamespace.delete(namespace);
    else this.#busyByNamespace.set(namespace, now);
    this.#setBusy(this.#busy + change);
  }

  async #wait(key: string): Promise<void> {
    this.#waiters += 1;
    try {
      await this.#options.fence.caughtUp(this.#scope(key), this.#waiting.signal);
      this.#caughtUp.push(key);
    } catch (error) {
      this.#queue.finish(key, this.#explain(key, error));
    }
    this.#waiters -= 1;
    this.#pump();
  }

  async #work(key: string): Promise<void> {
    this.#count(key, 1);
    const startedAt = this.#scheduler.now();
    const outcome = await this.#attempt(key);
    this.#options.metrics?.reconciled?.(outcome.result, this.#scheduler.now() - startedAt);
    this.#queue.finish(key, outcome);
    this.#count(key, -1);
    if (this.#busy === 0) this.#onIdle?.();
    this.#pump();
  }

  async #attempt(key: string): Promise<Explained> {
    const { reconcile, client, fence } = this.#options;
    try {
      const pass = { signal: this.#working.signal, client: new FencedClient(client, fence, this.#scope(key)) };
      const result = await reconcile(key, pass);
      const afterMs = result?.requeueAfterMs;
      // A pass that overlooked a lost or contradicting answer is repeated once the truth is known. Not at once: a server in
      // the same process that refuses on what it does not show yet would never get to show it.
      if (fence.isUncertain(this.#scope(key))) return { type: "again", afterMs: 1, result: "success" };
      return afterMs === undefined
        ? { type: "done", result: "success" }
        : { type: "again", afterMs, result: "requeue_after" };
    } catch (error) {
      return this.#explain(key, error);
    }
  }

  #explain(key: string, error: unknown): Explained {
    const fields = { controller: this.#options.name, key, err: error };
    if (error instanceof TerminalError) {
      this.#log.error(fields, "reconcile gave up");
      return { type: "done", result: "terminal" };
    }
    if (this.#waiting.signal.aborted) this.#log.debug(fields, "reconcile aborted");
    else this.#log.warn(fields, "reconcile failed");
    return { type: "failed", atLeastMs: error instanceof KubeError ? error.retryAfterMs : undefined, result: "error" };
  }

  #isIdleWithin(ms: number): Promise<boolean> {
    if (this.#busy === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.#scheduler.schedule(ms, () => resolve(false));
      this.#onIdle = () => {
        timer[Symbol.dispose]();
        resolve(true);
      };
    });
  }

  #setBusy(workers: number): void {
    this.#busy = workers;
    this.#options.metrics?.running?.(workers);
  }

  #scope(key: string): string {
    return fenceScope(this.#options.name, key);
  }
}

const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";

type Explained = Outcome & { readonly result: Parameters<NonNullable<RunnerMetrics["reconciled"]>>[0] };

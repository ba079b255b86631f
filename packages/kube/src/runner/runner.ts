import { type Fence, fenceScope } from "../cache/fence.ts";
import { FencedClient } from "../cache/fenced-client.ts";
import type { Client } from "../client.ts";
import { isNamespaceEnding, KubeError } from "../errors.ts";
import { KeyCounts } from "../limits/key-counts.ts";
import { childLogger, type Logger, silentLogger } from "../logger.ts";
import type { Backoff } from "../queue/backoff.ts";
import type { ControllerPriority } from "../queue/controller-priority.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type AddOptions, type Outcome, type QueueMetrics, WorkQueue } from "../queue/work-queue.ts";
import { type KubeObject, parseKey } from "../resource.ts";
import { OwnWrites } from "./own-writes.ts";
import { TerminalError } from "./terminal-error.ts";

export interface Result {
  /** Reconcile the key again after this time, even if nothing changes. */
  readonly requeueAfterMs?: number | undefined;
}

/** One reconcile of one key. */
export interface Pass {
  /** Aborted when the process stops and cannot wait any longer for the pass to end. */
  readonly signal: AbortSignal;
  /** The next pass over the same key starts when the caches show what was written through this client. */
  readonly client: Client;
  /** Adds the controller, the key and the number of the pass to every line. */
  readonly log: Logger;
  /**
   * Takes the answer to a write that the pass has fully taken into account: its watch event does not requeue the key. The
   * write must have had a resourceVersion precondition, or have been a create.
   */
  readonly ownWrite: <T extends KubeObject>(answer: T) => T;
}

/** Reconciles the object at `key`. Throws to be retried with backoff; a `TerminalError` is not retried. */
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
  /** Keys reconciled at the same time. Default 1. */
  readonly workers?: number;
  /** Keys of one namespace reconciled at the same time. Default: as many as there are workers. */
  readonly workersPerNamespace?: number;
  /** Called with the number of keys that are queued or being reconciled, for a `ControllerPriority`. */
  readonly reportKeys?: (keys: number) => void;
  /** Uses fewer workers, or none, while the controller with priority has keys. */
  readonly yieldsTo?: ControllerPriority;
  /** How long a stop waits for running passes before it aborts them, and then for them to end. Default 10 s each. */
  readonly stopWithinMs?: number;
  readonly backoff?: Backoff;
  readonly scheduler?: Scheduler;
  readonly log?: Logger;
  readonly metrics?: RunnerMetrics;
}

/** With more keys than this behind their fence the watch is in trouble, and taking more would flood the server with reads. */
const mostWaiting = 256;

/**
 * Takes keys from a queue and reconciles them: one pass at a time per key, as many in all as there are workers. A pass
 * starts when the caches show what the last pass over the key wrote; a key that waits for that occupies no worker.
 */
export class Runner implements AsyncDisposable {
  readonly ownWrites: OwnWrites = new OwnWrites();
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
  /** Running passes by namespace. */
  readonly #busy = new KeyCounts();
  #onIdle: (() => void) | undefined;
  #passes = 0;

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
    this.#subscriptions.use(options.yieldsTo?.onRaised(() => this.#pump()));
  }

  add(key: string, options?: AddOptions): void {
    this.#queue.add(key, options);
  }

  /** Keys added earlier are reconciled from now on. */
  start(): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    this.#pump();
  }

  /** Takes no more keys, waits for running passes, and aborts those that do not end in time. */
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
    this.#log.error({ controller: this.#options.name, passes: this.#busy.total }, "passes did not stop");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #pump(): void {
    this.#takeKeys();
    this.#options.reportKeys?.(this.#busy.total + this.#caughtUp.length + this.#queue.depth);
  }

  #takeKeys(): void {
    const { workers = 1, yieldsTo } = this.#options;
    while (this.#state === "started" && this.#busy.total < (yieldsTo?.limit(workers) ?? workers)) {
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
    this.#busy.of(namespace) >= (this.#options.workersPerNamespace ?? Number.POSITIVE_INFINITY);

  #count(key: string, change: 1 | -1): void {
    this.#busy.add(namespaceOf(key), change);
    this.#options.metrics?.running?.(this.#busy.total);
  }

  async #wait(key: string): Promise<void> {
    this.#waiters += 1;
    try {
      await this.#options.fence.caughtUp(this.#scope(key), this.#waiting.signal);
      this.#caughtUp.push(key);
    } catch (error) {
      this.#queue.finish(key, this.#explain(error, childLogger(this.#log, { controller: this.#options.name, key })));
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
    if (this.#busy.total === 0) this.#onIdle?.();
    this.#pump();
  }

  async #attempt(key: string): Promise<Explained> {
    const { reconcile, fence } = this.#options;
    const pass = this.#begin(key);
    try {
      const result = await reconcile(key, pass);
      const afterMs = result?.requeueAfterMs;
      // The pass ignored a lost answer or one that contradicts the cache: repeat it after a live read. Not at once: an API
      // server in the same process needs a turn of the event loop to send the event that the cache lacks.
      if (fence.isUncertain(this.#scope(key))) return { type: "again", afterMs: 1, result: "success" };
      return afterMs === undefined
        ? { type: "done", result: "success" }
        : { type: "again", afterMs, result: "requeue_after" };
    } catch (error) {
      return this.#explain(error, pass.log);
    }
  }

  #begin(key: string): Pass {
    const { name, client, fence } = this.#options;
    this.#passes += 1;
    return {
      signal: this.#working.signal,
      client: new FencedClient(client, fence, this.#scope(key)),
      log: childLogger(this.#log, { controller: name, key, pass: this.#passes }),
      ownWrite: (answer) => this.ownWrites.remember(answer),
    };
  }

  #explain(error: unknown, log: Logger): Explained {
    if (error instanceof TerminalError) {
      log.error({ err: error }, "reconcile gave up");
      return { type: "done", result: "terminal" };
    }
    if (this.#waiting.signal.aborted) log.debug({ err: error }, "reconcile aborted");
    else if (isNamespaceEnding(error)) log.debug({ err: error }, "reconcile failed: the namespace is being deleted");
    else log.warn({ err: error }, "reconcile failed");
    return { type: "failed", atLeastMs: error instanceof KubeError ? error.retryAfterMs : undefined, result: "error" };
  }

  #isIdleWithin(ms: number): Promise<boolean> {
    if (this.#busy.total === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.#scheduler.schedule(ms, () => resolve(false));
      this.#onIdle = () => {
        timer[Symbol.dispose]();
        resolve(true);
      };
    });
  }

  #scope(key: string): string {
    return fenceScope(this.#options.name, key);
  }
}

const namespaceOf = (key: string): string => parseKey(key).namespace ?? "";

type Explained = Outcome & { readonly result: Parameters<NonNullable<RunnerMetrics["reconciled"]>>[0] };

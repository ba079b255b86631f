import type { Sandbox } from "@agent-sandbox/api";
import type { Scheduler } from "@agent-sandbox/kube";
import type { Target } from "../cluster/target.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Visit } from "../observe/visit.ts";
import type { Route } from "../route/route.ts";
import type { Gate } from "../wake/gate.ts";
import type { Cancellation } from "./cancellation.ts";
import { DialError } from "./dialer.ts";

/** Connections that could not be made are tried again; requests that were sent never are. */
export interface RetryOptions {
  readonly most: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /**
   * How long requests to a Pod that was waited for are kept trying: one without a readiness probe is ready before what
   * runs in it listens.
   */
  readonly startingMs: number;
}

export interface PathfinderOptions {
  readonly gate: Gate;
  readonly metrics: Metrics;
  readonly scheduler: Scheduler;
  readonly retries: RetryOptions;
}

export interface ReachOptions<T> {
  readonly visit: Visit;
  readonly cancellation: Cancellation;
  /** What the request costs while it is held. */
  readonly heldBytes: number;
  /** Makes the connection. A `DialError` says that nothing was sent. */
  readonly open: (target: Target) => T | Promise<T>;
  /** Asked each time, before anything is opened: the Sandbox may have become another while the request waited. */
  readonly check?: (sandbox: Sandbox) => unknown;
}

export interface Reached<T> {
  readonly target: Target;
  readonly connection: T;
}

/** Pods that may be starting at a time; the oldest are forgotten first. */
const mostStarting = 10_000;

/** Finds the way to a sandbox: waits until it is ready, connects, and looks again when it has moved meanwhile. */
export class Pathfinder {
  readonly #options: PathfinderOptions;
  /** Until when Pods that were waited for count as starting, by UID. */
  readonly #starting = new Map<string, number>();

  constructor(options: PathfinderOptions) {
    this.#options = options;
  }

  /** Where it goes, if that is known without waiting. */
  ready(route: Route): Target | undefined {
    return this.#options.gate.ready(route);
  }

  async reach<T>(route: Route, options: ReachOptions<T>): Promise<Reached<T>> {
    const { cancellation, heldBytes, open, check } = options;
    const hold = { bytes: heldBytes, signal: () => cancellation.signal };
    for (let attempt = 0; ; attempt += 1) {
      const known = this.#options.gate.ready(route);
      const target = known ?? (await this.#options.gate.pass(route, hold));
      if (known === undefined) this.#noteStart(target);
      await check?.(target.sandbox);
      cancellation.throwIfCancelled();
      try {
        return { target, connection: await open(target) };
      } catch (error) {
        cancellation.throwIfCancelled();
        const isStarting = this.#options.scheduler.now() < (this.#starting.get(target.podUid) ?? 0);
        await this.#beforeNext(error, { attempt, isStarting }, options);
      }
    }
  }

  #noteStart({ podUid }: Target): void {
    if (this.#starting.has(podUid)) return;
    const { scheduler, retries } = this.#options;
    const now = scheduler.now();
    for (const [uid, until] of this.#starting) {
      if (until > now && this.#starting.size < mostStarting) break;
      this.#starting.delete(uid);
    }
    this.#starting.set(podUid, now + retries.startingMs);
  }

  /** Throws the error when there is no next attempt. */
  async #beforeNext<T>(
    error: unknown,
    { attempt, isStarting }: { readonly attempt: number; readonly isStarting: boolean },
    { visit, cancellation }: ReachOptions<T>,
  ): Promise<void> {
    const { metrics, scheduler, retries } = this.#options;
    if (!(error instanceof DialError)) throw error;
    if (attempt >= retries.most && !isStarting) throw error;
    metrics.retried(visit.namespace, error.stale);
    // An address that went to another needs no pause: the gate holds until there is a new one.
    if (error.stale) return;
    const delayMs = Math.min(retries.longestDelayMs, retries.firstDelayMs * 2 ** attempt);
    await scheduler.sleep(delayMs, cancellation.signal);
    cancellation.throwIfCancelled();
  }
}

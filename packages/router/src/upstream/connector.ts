import type { Sandbox } from "@agent-sandbox/api";
import type { Scheduler } from "@agent-sandbox/kube";
import type { Target } from "../cluster/target.ts";
import type { Cancellation } from "../request/cancellation.ts";
import type { Exchange, Forwarder, Upstream } from "../request/exchange.ts";
import type { Route } from "../route/route.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { SandboxWaiter } from "../wake/sandbox-waiter.ts";
import { readAheadBytes } from "../wake/wait-queue.ts";
import { DialError } from "./dialer.ts";

/** Failed connection attempts are repeated. A request that was sent never is. */
export interface RetryOptions {
  readonly max: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /**
   * How long connections to a pod that has just become ready are retried. A pod without a readiness probe is ready
   * before its program listens.
   */
  readonly startingMs: number;
}

export interface UpstreamConnectorOptions {
  readonly waiter: SandboxWaiter;
  readonly metrics: Metrics;
  readonly scheduler: Scheduler;
  readonly retries: RetryOptions;
}

export interface ConnectOptions<C> {
  readonly record: AccessRecord;
  readonly cancellation: Cancellation;
  /** Memory that the request occupies while it waits. */
  readonly heldBytes: number;
  /** Opens the connection. Throws a `DialError` if that fails; nothing was sent then. */
  readonly open: (target: Target) => C | Promise<C>;
  /** Called before each `open`. Throws if the request may not be sent to this Sandbox. */
  readonly check?: (sandbox: Sandbox) => unknown;
}

/** Pods counted as starting at a time. Beyond it the oldest are dropped. */
const maxStarting = 10_000;

/** Connects requests to the pod of their sandbox, which it wakes and waits for if it is not ready. */
export class UpstreamConnector {
  readonly #options: UpstreamConnectorOptions;
  /** Pod UIDs, and until when each pod counts as starting. */
  readonly #starting = new Map<string, number>();

  constructor(options: UpstreamConnectorOptions) {
    this.#options = options;
  }

  /** A free connection to a sandbox that is ready. Undefined if the request must wait for either. */
  take<C>({ route, sandboxUid, isRepeated }: Exchange, forwarder: Forwarder<C>): Upstream<C> | undefined {
    if (isRepeated) return undefined;
    const target = this.#options.waiter.ready(route);
    if (target === undefined || target.sandbox.metadata.uid !== sandboxUid) return undefined;
    const connection = forwarder.take(target);
    return connection === undefined ? undefined : { target, connection };
  }

  /** Waits until the sandbox is ready, then connects. `authorize` is called if the name belongs to another Sandbox by then. */
  connect<C>(
    exchange: Exchange,
    forwarder: Forwarder<C>,
    authorize: (sandbox: Sandbox) => unknown,
  ): Promise<Upstream<C>> {
    const { client, record, sandboxUid } = exchange;
    // A connection that was idle may lead to the pod that refused the request: a repeated request gets a new one.
    const free = (target: Target): C | undefined => (exchange.isRepeated ? undefined : forwarder.take(target));
    return this.connectTo(exchange.route, {
      record,
      cancellation: client.cancellation,
      heldBytes: heldBytes(exchange),
      open: (target) => free(target) ?? forwarder.open(target, exchange),
      check: (sandbox) => (sandbox.metadata.uid === sandboxUid ? undefined : authorize(sandbox)),
    });
  }

  async connectTo<C>(route: Route, options: ConnectOptions<C>): Promise<Upstream<C>> {
    const { cancellation, heldBytes: bytes, open, check } = options;
    const hold = { bytes, signal: () => cancellation.signal };
    for (let attempt = 0; ; attempt += 1) {
      const known = this.#options.waiter.ready(route);
      const target = known ?? (await this.#options.waiter.waitUntilReady(route, hold));
      if (known === undefined) this.#markStarting(target);
      await check?.(target.sandbox);
      cancellation.throwIfCancelled();
      try {
        return { target, connection: await open(target) };
      } catch (error) {
        cancellation.throwIfCancelled();
        const isStarting = this.#options.scheduler.now() < (this.#starting.get(target.podUid) ?? 0);
        await this.#beforeRetry(error, { attempt, isStarting }, options);
      }
    }
  }

  #markStarting({ podUid }: Target): void {
    if (this.#starting.has(podUid)) return;
    const { scheduler, retries } = this.#options;
    const now = scheduler.now();
    for (const [uid, until] of this.#starting) {
      if (until > now && this.#starting.size < maxStarting) break;
      this.#starting.delete(uid);
    }
    this.#starting.set(podUid, now + retries.startingMs);
  }

  /** Throws the error if there is no further attempt. */
  async #beforeRetry<C>(
    error: unknown,
    { attempt, isStarting }: { readonly attempt: number; readonly isStarting: boolean },
    { record, cancellation }: ConnectOptions<C>,
  ): Promise<void> {
    const { metrics, scheduler, retries } = this.#options;
    if (!(error instanceof DialError)) throw error;
    if (attempt >= retries.max && !isStarting) throw error;
    metrics.retried(record.namespace, error.stale);
    // When the address belongs to another pod by now, the next attempt waits until the new address is known.
    if (error.stale) return;
    const delayMs = Math.min(retries.maxDelayMs, retries.firstDelayMs * 2 ** attempt);
    await scheduler.sleep(delayMs, cancellation.signal);
    cancellation.throwIfCancelled();
  }
}

/** A client may send its body, or the first bytes of an upgraded connection, before the sandbox is ready. */
function heldBytes({ client, request: { head } }: Exchange): number {
  return head.bytes + (head.hasBody || client.upgrade !== undefined ? readAheadBytes : 0);
}

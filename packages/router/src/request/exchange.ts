import type { SandboxUse } from "../activity/activity-tracker.ts";
import type { Target } from "../cluster/target.ts";
import type { Deadlines, Timed } from "../deadlines.ts";
import type { Route } from "../route/route.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { ClientRequest } from "./client-request.ts";
import type { ParsedRequest } from "./parse-request.ts";
import { timedOut } from "./request-timeout.ts";

/** A request that was parsed and authorized, with the state it has until its response has ended. */
export class Exchange implements Timed {
  readonly client: ClientRequest;
  readonly record: AccessRecord;
  readonly request: ParsedRequest;
  readonly route: Route;
  /** The Sandbox that the caller may connect to. Undefined if the claim of that name has none yet. */
  readonly sandboxUid: string | undefined;
  deadlineMs: number = Number.POSITIVE_INFINITY;
  /** Whether the request was sent to a pod that refused it as misdirected, and is being sent again. */
  isRepeated = false;
  #timeoutMs = 0;
  #deadlines: Deadlines | undefined;
  #resources: Disposable[] = [];

  constructor(
    { client, request, route }: { client: ClientRequest; request: ParsedRequest; route: Route },
    record: AccessRecord,
    sandboxUid: string | undefined,
  ) {
    this.client = client;
    this.record = record;
    this.request = request;
    this.route = route;
    this.sandboxUid = sandboxUid;
  }

  /** Disposes of the resource when the exchange ends. */
  use(resource: Disposable): void {
    this.#resources.push(resource);
  }

  /** Cancels the request if nothing is transferred for this long. */
  startTimeout(deadlines: Deadlines, timeoutMs: number): void {
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.deadlineMs = deadlines.after(timeoutMs);
    deadlines.watch(this);
  }

  /** Something was transferred: the timeout starts again. */
  extendTimeout(): void {
    if (this.#deadlines !== undefined) this.deadlineMs = this.#deadlines.after(this.#timeoutMs);
  }

  stopTimeout(): void {
    this.#deadlines?.forget(this);
    this.#deadlines = undefined;
  }

  onDeadline(): void {
    this.client.cancellation.cancel(timedOut(this.route.name));
  }

  release(): void {
    this.stopTimeout();
    for (const resource of this.#resources) resource[Symbol.dispose]();
    this.#resources = [];
  }
}

/** A connection to the pod that runs the sandbox. */
export interface Upstream<C> {
  readonly target: Target;
  readonly connection: C;
}

/** An upstream that a request is sent to, which counts as use of the sandbox. */
export interface UsedUpstream<C> extends Upstream<C> {
  readonly use: SandboxUse;
}

/** Forwards requests of one kind over one kind of connection. */
export interface Forwarder<C> {
  /** An open connection that is free. Undefined if there is none, or if this kind never reuses connections. */
  take(target: Target): C | undefined;
  /** Opens a connection. Throws a `DialError` if that fails; nothing was sent then. */
  open(target: Target, exchange: Exchange): C | Promise<C>;
  /** Sends the request and relays the response, then calls `onDone` once, with the error if there was one. */
  forward(exchange: Exchange, upstream: UsedUpstream<C>, onDone: (error?: unknown) => void): void;
  /** Whether a request that a pod refused as misdirected can be sent to another pod. */
  mayRepeat(exchange: Exchange): boolean;
}

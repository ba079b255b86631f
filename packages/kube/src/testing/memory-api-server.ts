import { KubeError } from "../errors.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type KubeObject, keyOf, type ObjectKey, type Resource } from "../resource.ts";
import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../transport.ts";
import { type ApiCall, describeCall, isWrite, parseCall, type ServedResource } from "./api-call.ts";
import { type LogEntry, ObjectLog, type Snapshot } from "./object-log.ts";
import { ObjectVerbs } from "./object-verbs.ts";
import { WatchHub } from "./watch-hub.ts";

/** The faults to inject into a request. */
export interface Fault {
  /** Delays the request before anything else. */
  readonly delayMs?: number;
  /** Breaks the connection before the server processes the request, or after. */
  readonly reset?: "before" | "after";
  /** Rejects the request without processing it. */
  readonly refuse?: {
    readonly reason: "TooManyRequests" | "InternalError" | "Conflict" | "ServiceUnavailable" | "Invalid" | "Forbidden";
    readonly retryAfterSeconds?: number;
  };
}

export type OnRequest = (call: ApiCall) => Fault | undefined;

export interface MemoryApiServerOptions {
  readonly resources: readonly ServedResource[];
  /** Default: the system's. */
  readonly scheduler?: Scheduler;
}

/**
 * An in-memory Kubernetes API server for tests: deterministic, with fault injection. It supports objects, versions,
 * conflicts, finalizers, owner references and watches, but no schemas, admission or server-side apply.
 */
export class MemoryApiServer implements Transport {
  /** Called before each request, including watches, except on connections with their own faults. */
  onRequest: OnRequest | undefined;
  /** Received requests, by names such as `patch sandboxes/status`. */
  readonly requests: Map<string, number> = new Map();
  /** Successful writes, by the same names. */
  readonly writes: Map<string, number> = new Map();
  readonly #resources: readonly ServedResource[];
  readonly #scheduler: Scheduler;
  readonly #log = new ObjectLog();
  readonly #verbs: ObjectVerbs;
  readonly #hub: WatchHub;

  constructor({ resources, scheduler = systemScheduler }: MemoryApiServerOptions) {
    this.#resources = resources;
    this.#scheduler = scheduler;
    this.#hub = new WatchHub(this.#log, scheduler);
    this.#verbs = new ObjectVerbs(this.#log, scheduler);
  }

  /** How long events of a resource are delayed. The order within a watch is kept. */
  set watchDelayMs(delayMs: ((resource: Resource) => number) | undefined) {
    this.#hub.delayMs = delayMs;
  }

  get resourceVersion(): string {
    return String(this.#log.version);
  }

  get openWatches(): number {
    return this.#hub.size;
  }

  /** Reads the stored object directly, without faults. */
  read<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined {
    return this.#log.get(this.#served(resource), keyOf(key)) as T | undefined;
  }

  readAll<T extends KubeObject>(resource: Resource<T>): T[] {
    return this.#log.list(this.#served(resource)) as T[];
  }

  /** Breaks every open watch, like a restart of a proxy. */
  cutWatches(): void {
    this.#hub.cut(new KubeError("Interrupted", "Cannot follow the watch: the connection was cut"));
  }

  /** Drops all history: watches from earlier versions get 410. */
  compact(): void {
    this.#log.compact();
    this.#verbs.forgetPages();
  }

  snapshot(): Snapshot {
    return this.#log.snapshot();
  }

  /** Restores a backup: watches break, and later versions are unknown (410). */
  restore(snapshot: Snapshot): void {
    this.#log.restore(snapshot);
    this.#verbs.forgetPages();
    this.cutWatches();
  }

  sendBookmarks(): void {
    this.#hub.sendBookmarks();
  }

  /** Calls the listener for every change. */
  onChange(listener: (change: LogEntry) => void): void {
    this.#log.listen(listener);
  }

  /** A connection with its own faults. */
  connect(onRequest: OnRequest): Transport {
    return {
      send: (request) => this.#send(request, onRequest),
      stream: (request) => this.#stream(request, onRequest),
      close: () => Promise.resolve(),
    };
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    return this.#send(request, this.onRequest);
  }

  stream(request: TransportRequest): Promise<StreamResponse> {
    return this.#stream(request, this.onRequest);
  }

  close(): Promise<void> {
    this.#hub.cut(new KubeError("Interrupted", "Cannot follow the watch: the server was closed"));
    return Promise.resolve();
  }

  async #send(request: TransportRequest, onRequest: OnRequest | undefined): Promise<TransportResponse> {
    try {
      const call = this.#accept(request);
      const fault = await this.#inject(onRequest?.(call), call, request.signal);
      const body = this.#verbs.handle(call);
      if (isWrite(call)) count(this.writes, call);
      if (fault?.reset === "after") throw new Disconnection(lostAnswer(call));
      return { status: call.verb === "create" ? 201 : 200, headers: jsonHeaders, body };
    } catch (error) {
      return failure(error);
    }
  }

  async #stream(request: TransportRequest, onRequest: OnRequest | undefined): Promise<StreamResponse> {
    try {
      const call = this.#accept(request);
      await this.#inject(onRequest?.(call), call, request.signal);
      const events = this.#hub.open(call);
      request.signal?.addEventListener("abort", () => events.end({ error: aborted(call) }), { once: true });
      return { status: 200, headers: jsonHeaders, events };
    } catch (error) {
      return failure(error);
    }
  }

  #accept(request: TransportRequest): ApiCall {
    const call = parseCall(request, this.#resources);
    count(this.requests, call);
    if (request.signal?.aborted) throw new Disconnection(aborted(call));
    return call;
  }

  async #inject(fault: Fault | undefined, call: ApiCall, signal: AbortSignal | undefined): Promise<Fault | undefined> {
    if (fault?.delayMs !== undefined) await this.#scheduler.sleep(fault.delayMs, signal);
    if (signal?.aborted) throw new Disconnection(aborted(call));
    if (fault?.reset === "before") throw new Disconnection(lostAnswer(call));
    if (fault?.refuse === undefined) return fault;
    const { reason, retryAfterSeconds } = fault.refuse;
    const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    throw new KubeError(reason, `the test refuses to ${describeCall(call)}`, { retryAfterMs });
  }

  #served(resource: Resource): ServedResource {
    const { apiVersion, plural } = resource;
    const served = this.#resources.find((known) => known.apiVersion === apiVersion && known.plural === plural);
    if (served === undefined) throw new Error(`Cannot read ${plural}: the server does not serve them`);
    return served;
  }
}

/** Wraps an error that is thrown to the caller instead of returned as a response. */
class Disconnection {
  readonly error: KubeError;

  constructor(error: KubeError) {
    this.error = error;
  }
}

const jsonHeaders = { "content-type": "application/json" };

function failure(error: unknown): TransportResponse {
  if (error instanceof Disconnection) throw error.error;
  if (!(error instanceof KubeError)) throw error;
  const { code, reason, message, retryAfterMs } = error;
  const seconds = retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
  return { status: code, headers: { ...jsonHeaders, ...seconds }, body };
}

function count(counts: Map<string, number>, call: ApiCall): void {
  counts.set(describeCall(call), (counts.get(describeCall(call)) ?? 0) + 1);
}

function lostAnswer(call: ApiCall): KubeError {
  return new KubeError("Interrupted", `Cannot ${describeCall(call)}: the connection was reset`);
}

function aborted(call: ApiCall): KubeError {
  return new KubeError("Interrupted", `Cannot ${describeCall(call)}: the request was cancelled`);
}

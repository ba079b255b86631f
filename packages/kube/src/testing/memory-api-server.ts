import { KubeError } from "../errors.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type KubeObject, keyOf, type ObjectKey, objectKey, type Resource } from "../resource.ts";
import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../transport.ts";
import { type ApiCall, describeCall, isWrite, parseCall, type ServedResource, targetOf } from "./api-call.ts";
import { collectGarbage } from "./garbage-collector.ts";
import { type LogEntry, ObjectLog, type Snapshot } from "./object-log.ts";
import { Pages } from "./pages.ts";
import { jsonPatch, mergePatch } from "./patches.ts";
import { prepareCreate, prepareUpdate, refuseStale } from "./prepare.ts";
import { compileFilter } from "./selectors.ts";
import { WatchHub } from "./watch-hub.ts";

/** What goes wrong with one request; everything absent goes right. */
export interface Fault {
  /** Before anything else happens. */
  readonly delayMs?: number;
  /** The connection breaks before the server saw the request, or after it carried it out. */
  readonly reset?: "before" | "after";
  /** The server refuses without doing anything. */
  readonly refuse?: {
    readonly reason: "TooManyRequests" | "InternalError" | "Conflict" | "ServiceUnavailable";
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
 * A Kubernetes API server in memory, for tests: deterministic, with faults on request. It knows objects, versions,
 * conflicts, finalizers, owner references and watches; it knows no schema, no admission and no server-side apply.
 */
export class MemoryApiServer implements Transport {
  /** Asked before each request, watches included, that does not come through a connection with faults of its own. */
  onRequest: OnRequest | undefined;
  /** Requests that arrived, by `patch sandboxes/status` and the like. */
  readonly requests: Map<string, number> = new Map();
  /** Writes that were carried out, in the same terms. */
  readonly writes: Map<string, number> = new Map();
  readonly #resources: readonly ServedResource[];
  readonly #scheduler: Scheduler;
  readonly #log = new ObjectLog();
  readonly #pages = new Pages();
  readonly #hub: WatchHub;
  #created = 0;

  constructor({ resources, scheduler = systemScheduler }: MemoryApiServerOptions) {
    this.#resources = resources;
    this.#scheduler = scheduler;
    this.#hub = new WatchHub(this.#log, scheduler);
    collectGarbage(this.#log, { scheduler, remove: (resource, object) => this.#remove(resource, object) });
  }

  /** How late a watch of this resource hears of a change; the order within one watch stays. */
  set watchDelayMs(delayMs: ((resource: Resource) => number) | undefined) {
    this.#hub.delayMs = delayMs;
  }

  get resourceVersion(): string {
    return String(this.#log.version);
  }

  get openWatches(): number {
    return this.#hub.size;
  }

  /** What is stored, past all faults. */
  read<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined {
    return this.#log.get(this.#served(resource), keyOf(key)) as T | undefined;
  }

  readAll<T extends KubeObject>(resource: Resource<T>): T[] {
    return this.#log.list(this.#served(resource)) as T[];
  }

  /** Breaks every open watch, as a restart of a proxy would. */
  cutWatches(): void {
    this.#hub.cut(new KubeError("Interrupted", "Cannot follow the watch: the connection was cut"));
  }

  /** Forgets all history: whoever was not following gets 410. */
  compact(): void {
    this.#log.compact();
    this.#pages.clear();
  }

  snapshot(): Snapshot {
    return this.#log.snapshot();
  }

  /** Starts again from a backup, as after a disaster: watches break, and versions given out since are unknown (410). */
  restore(snapshot: Snapshot): void {
    this.#log.restore(snapshot);
    this.#pages.clear();
    this.cutWatches();
  }

  sendBookmarks(): void {
    this.#hub.sendBookmarks();
  }

  /** Told of every change, as it happens. */
  onChange(listener: (change: LogEntry) => void): void {
    this.#log.listen(listener);
  }

  /** A way to the server with faults of its own: one client suffers, another does not. */
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
      const fault = await this.#meet(onRequest?.(call), call, request.signal);
      const body = this.#handle(call);
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
      await this.#meet(onRequest?.(call), call, request.signal);
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

  async #meet(fault: Fault | undefined, call: ApiCall, signal: AbortSignal | undefined): Promise<Fault | undefined> {
    if (fault?.delayMs !== undefined) await this.#scheduler.sleep(fault.delayMs, signal);
    if (signal?.aborted) throw new Disconnection(aborted(call));
    if (fault?.reset === "before") throw new Disconnection(lostAnswer(call));
    if (fault?.refuse === undefined) return fault;
    const { reason, retryAfterSeconds } = fault.refuse;
    const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    throw new KubeError(reason, `the test refuses to ${describeCall(call)}`, { retryAfterMs });
  }

  #handle(call: ApiCall): unknown {
    switch (call.verb) {
      case "get":
        return this.#find(call);
      case "list":
        return this.#pages.list(call, { log: this.#log, filter: compileFilter(call.namespace, call.query) });
      case "create":
        return this.#create(call);
      case "update":
        return this.#update(call, call.body);
      case "patch":
        return this.#update(call, patched(call, this.#find(call)));
      case "delete":
        return this.#delete(call);
      default:
        throw new KubeError("MethodNotAllowed", `${call.verb} needs a stream`);
    }
  }

  #create(call: ApiCall): KubeObject {
    this.#created += 1;
    const object = prepareCreate(call, {
      uid: `00000000-0000-4000-8000-${String(this.#created).padStart(12, "0")}`,
      creationTimestamp: timestamp(this.#scheduler),
      suffix: this.#created.toString(36).padStart(5, "0"),
    });
    if (this.#log.get(call.resource, objectKey(object)) !== undefined) {
      throw new KubeError("AlreadyExists", `${call.resource.plural} "${objectKey(object)}" already exists`);
    }
    return isDryRun(call) ? object : this.#log.put(call.resource, object);
  }

  #update(call: ApiCall, body: unknown): KubeObject {
    const old = this.#find(call);
    if (call.verb === "update" && (body as KubeObject).metadata?.resourceVersion === undefined) {
      throw new KubeError("Invalid", "metadata.resourceVersion: must be specified for an update");
    }
    const next = prepareUpdate(call, old, body);
    if (next === old || isDryRun(call)) return next;
    const isReleased = next.metadata?.deletionTimestamp !== undefined && !isHeld(next);
    return isReleased ? this.#log.remove(call.resource, next) : this.#log.put(call.resource, next);
  }

  /** As Kubernetes does it: a `Status` when the object is gone, the object when something still holds it. */
  #delete(call: ApiCall): unknown {
    const old = this.#find(call);
    const options = (call.body ?? {}) as {
      preconditions?: object;
      propagationPolicy?: string;
      gracePeriodSeconds?: number;
    };
    refuseStale(call.resource, old, { metadata: options.preconditions });
    if (options.propagationPolicy === "Foreground" || options.propagationPolicy === "Orphan") {
      throw new KubeError("BadRequest", `propagationPolicy ${options.propagationPolicy} is not supported in memory`);
    }
    const graceSeconds = call.resource.graceful === true ? (options.gracePeriodSeconds ?? 30) : 0;
    const kept = this.#remove(call.resource, old, graceSeconds);
    if (kept !== undefined) return kept;
    const details = { name: call.name, kind: call.resource.plural, uid: old.metadata?.uid };
    return { kind: "Status", apiVersion: "v1", status: "Success", details };
  }

  /** Removes, or marks as being deleted and returns, what finalizers or a grace period hold. */
  #remove(resource: ServedResource, object: KubeObject, graceSeconds = 0): KubeObject | undefined {
    const metadata = {
      ...object.metadata,
      deletionTimestamp: object.metadata?.deletionTimestamp ?? timestamp(this.#scheduler),
      deletionGracePeriodSeconds: graceSeconds,
    };
    const marked = { ...object, metadata };
    if (!isHeld(marked)) {
      this.#log.remove(resource, object);
      return undefined;
    }
    const isMarked = object.metadata?.deletionTimestamp !== undefined;
    return isMarked && object.metadata?.deletionGracePeriodSeconds === graceSeconds
      ? object
      : this.#log.put(resource, marked);
  }

  #find(call: ApiCall): KubeObject {
    const object = this.#log.get(call.resource, targetOf(call));
    if (object === undefined) {
      throw new KubeError("NotFound", `${call.resource.plural} "${targetOf(call)}" not found`);
    }
    if (call.subresource === undefined || (call.subresource === "status" && call.resource.status === true))
      return object;
    throw new KubeError("NotFound", `${call.resource.plural} have no subresource "${call.subresource}" in memory`);
  }

  #served(resource: Resource): ServedResource {
    const { apiVersion, plural } = resource;
    const served = this.#resources.find((known) => known.apiVersion === apiVersion && known.plural === plural);
    if (served === undefined) throw new Error(`Cannot read ${plural}: the server was made without them`);
    return served;
  }
}

/** Marks what is thrown to the caller rather than answered. */
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

function patched(call: ApiCall, old: KubeObject): unknown {
  switch (call.contentType) {
    case "application/merge-patch+json":
      return mergePatch(old, call.body);
    case "application/json-patch+json":
      return jsonPatch(old, call.body);
    default:
      throw new KubeError("UnsupportedMediaType", `patches of type ${call.contentType} are not supported in memory`);
  }
}

function isHeld({ metadata }: KubeObject): boolean {
  return (metadata?.finalizers?.length ?? 0) > 0 || (metadata?.deletionGracePeriodSeconds ?? 0) > 0;
}

function isDryRun(call: ApiCall): boolean {
  return call.query.get("dryRun") === "All";
}

function count(counts: Map<string, number>, call: ApiCall): void {
  counts.set(describeCall(call), (counts.get(describeCall(call)) ?? 0) + 1);
}

function lostAnswer(call: ApiCall): KubeError {
  return new KubeError("Interrupted", `Cannot ${describeCall(call)}: the connection was reset`);
}

function aborted(call: ApiCall): KubeError {
  return new KubeError("Interrupted", `Cannot ${describeCall(call)}: the caller gave up`);
}

/** Whole seconds, as Kubernetes stores them. */
function timestamp(scheduler: Scheduler): string {
  return new Date(scheduler.date()).toISOString().replace(/\.\d+Z$/, "Z");
}

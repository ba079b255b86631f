import { KubeError } from "../errors.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import { type KubeObject, objectKey } from "../resource.ts";
import { type ApiCall, type ServedResource, targetOf } from "./api-call.ts";
import { collectGarbage } from "./garbage-collector.ts";
import type { ObjectLog } from "./object-log.ts";
import { Pages } from "./pages.ts";
import { jsonPatch, mergePatch } from "./patches.ts";
import { prepareCreate, prepareUpdate, refuseStale } from "./prepare.ts";
import { compileFilter } from "./selectors.ts";

/** Implements the verbs. */
export class ObjectVerbs {
  readonly #log: ObjectLog;
  readonly #scheduler: Scheduler;
  readonly #pages = new Pages();
  #created = 0;

  constructor(log: ObjectLog, scheduler: Scheduler) {
    this.#log = log;
    this.#scheduler = scheduler;
    collectGarbage(log, { scheduler, remove: (resource, object) => this.#remove(resource, object) });
  }

  /** Expires the continue tokens of all lists. */
  forgetPages(): void {
    this.#pages.clear();
  }

  /** Returns the response body, or throws a `KubeError`. */
  handle(call: ApiCall): unknown {
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

  /** Like Kubernetes, returns a `Status` if the object is gone, and the object if it still exists. */
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

  /** Removes the object, or marks and returns it if finalizers or a grace period keep it. */
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

/** Whole seconds, as Kubernetes stores them. */
function timestamp(scheduler: Scheduler): string {
  return new Date(scheduler.date()).toISOString().replace(/\.\d+Z$/, "Z");
}

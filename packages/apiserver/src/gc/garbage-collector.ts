import { setImmediate } from "node:timers/promises";
import type { OwnerReference } from "@agent-sandbox/api";
import { ApiError } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import type { Logger } from "../logger.ts";
import type { ObjectTarget } from "../request/target.ts";
import type { ResourceChange, Stored } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { foregroundFinalizer, orphanFinalizer, remove } from "../verbs/delete.ts";
import type { DeleteOptions } from "../verbs/delete-options.ts";
import { modify } from "../verbs/modify.ts";
import { ownWrite } from "../verbs/write-options.ts";
import { idText, type ObjectId, type Ownership, ownersOf, parseId } from "./ownership.ts";
import { WorkSet } from "./work-set.ts";

/** Objects read before yielding to other work: about two milliseconds. */
const surveyedAtOnce = 100;

/**
 * Deletes objects whose owners are all gone. An object that still has an owner loses its references to the missing ones. At
 * start it checks all objects once, for changes that it missed while it was not running.
 */
export class GarbageCollector {
  readonly #context: ApiContext;
  readonly #ownership: Ownership;
  readonly #work: WorkSet;
  readonly #logger: Logger;
  #unsubscribe: () => void = () => undefined;
  #surveyed: Promise<void> | undefined;
  #stopped = false;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#ownership = context.ownership;
    this.#logger = logger;
    this.#work = new WorkSet((item) => this.#look(parseId(item)), logger);
  }

  start(): void {
    const { registry, store } = this.#context;
    const found = [...registry.definitions].flatMap(({ id }) =>
      [...store.list(id)].map((stored) => ({ resource: id, stored })),
    );
    this.#unsubscribe = store.subscribe(undefined, (changes) => this.#notice(changes));
    this.#surveyed = this.#survey(found).catch((error: unknown) => {
      // An object that cannot be read may be an owner. Collect nothing rather than delete a dependent by mistake.
      this.#stopped = true;
      this.#logger.error({ err: error }, "garbage collection is off: a stored object is damaged");
    });
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#stopped = true;
    await this.#work.stop();
  }

  /** Reads all stored objects in small batches, so that requests are served in between. */
  async #survey(found: readonly { readonly resource: string; readonly stored: Stored }[]): Promise<void> {
    for (let at = 0; at < found.length && !this.#stopped; at += surveyedAtOnce) {
      for (const { resource, stored } of found.slice(at, at + surveyedAtOnce)) {
        // Changes since then were observed through the store.
        if (this.#context.store.get(resource, stored.key) !== stored) continue;
        this.#ownership.add(resource, stored.object);
        if (isInteresting(stored.object)) this.#work.add(idText({ resource, key: stored.key }));
      }
      await setImmediate();
    }
    if (!this.#stopped) this.#ownership.complete();
  }

  #notice(changes: readonly ResourceChange[]): void {
    const gone: { readonly object: ApiObject; readonly key: string }[] = [];
    for (const { resource, change } of changes) {
      const { stored, previous, key } = change;
      if (stored === undefined) {
        const { object } = previous ?? {};
        this.#ownership.remove(object?.metadata.uid ?? "");
        if (object !== undefined) gone.push({ object, key });
      } else if (this.#ownership.add(resource, stored.object) && isInteresting(stored.object)) {
        this.#work.add(idText({ resource, key }));
      }
    }
    for (const { object, key } of gone) {
      const { uid = "" } = object.metadata;
      for (const dependent of this.#ownership.dependents(uid, key)) this.#work.add(idText(dependent));
      this.#lookAtOwners(object);
    }
  }

  /** An owner in foreground deletion may be waiting for the deleted object. */
  #lookAtOwners(object: ApiObject): void {
    for (const uid of ownersOf(object)) {
      const owner = this.#ownership.find(uid);
      if (owner !== undefined) this.#work.add(idText(owner));
    }
  }

  async #look(id: ObjectId): Promise<void> {
    // Before the survey has finished, an unknown owner may still exist.
    await this.#surveyed;
    if (this.#stopped) return;
    const object = this.#context.store.get(id.resource, id.key)?.object;
    if (object === undefined) return;
    try {
      await (object.metadata.deletionTimestamp === undefined ? this.#judge(id, object) : this.#finish(id, object));
    } catch (error) {
      if (!(error instanceof ApiError) || (error.reason !== "NotFound" && error.reason !== "Conflict")) throw error;
      // The object was changed concurrently. Check it again.
      if (error.reason === "Conflict") this.#work.add(idText(id));
    }
  }

  async #judge(id: ObjectId, object: ApiObject): Promise<void> {
    const { ownerReferences = [], uid, resourceVersion } = object.metadata;
    const solid = ownerReferences.filter((owner) => this.#stateOf(owner, object) === "solid");
    if (solid.length === ownerReferences.length) return;
    if (solid.length > 0) return this.#rewrite(id, object, { ownerReferences: solid });
    const awaited = ownerReferences.some((owner) => this.#stateOf(owner, object) === "waiting");
    // Only in the version that was checked: a concurrent delete may have set another propagation policy.
    await remove(this.#context, this.#target(id), {
      uid,
      resourceVersion,
      propagation: propagationOf(object, awaited),
    });
  }

  /** An owner must exist, and be cluster-scoped or in the namespace of the dependent. */
  #stateOf({ uid }: OwnerReference, dependent: ApiObject): "solid" | "waiting" | "absent" {
    const id = this.#ownership.find(uid);
    const owner = id === undefined ? undefined : this.#context.store.get(id.resource, id.key)?.object;
    if (owner === undefined) return "absent";
    const { namespace, deletionTimestamp, finalizers = [] } = owner.metadata;
    if (namespace !== undefined && namespace !== dependent.metadata.namespace) return "absent";
    return deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer) ? "waiting" : "solid";
  }

  /** Performs what the finalizers of a deleted owner ask for: orphan its dependents or delete them first. */
  async #finish(id: ObjectId, object: ApiObject): Promise<void> {
    const { finalizers = [], uid = "" } = object.metadata;
    const dependents = this.#ownership.dependents(uid, id.key);
    if (finalizers.includes(orphanFinalizer)) {
      await Promise.all(dependents.map((dependent) => this.#disown(dependent, uid)));
      return this.#rewrite(id, object, { finalizers: finalizers.filter((each) => each !== orphanFinalizer) });
    }
    if (!finalizers.includes(foregroundFinalizer)) return;
    for (const dependent of dependents) this.#work.add(idText(dependent));
    if (dependents.some((dependent) => this.#blocks(dependent, uid))) return;
    await this.#rewrite(id, object, { finalizers: finalizers.filter((each) => each !== foregroundFinalizer) });
  }

  #blocks(dependent: ObjectId, uid: string): boolean {
    const object = this.#context.store.get(dependent.resource, dependent.key)?.object;
    return (object?.metadata.ownerReferences ?? []).some(
      (owner) => owner.uid === uid && owner.blockOwnerDeletion === true,
    );
  }

  async #disown(dependent: ObjectId, uid: string): Promise<void> {
    const object = this.#context.store.get(dependent.resource, dependent.key)?.object;
    if (object === undefined) return;
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
    await this.#rewrite(dependent, object, { ownerReferences });
  }

  async #rewrite(id: ObjectId, object: ApiObject, change: Partial<ApiObject["metadata"]>): Promise<void> {
    const wanted = withMetadata(object, change);
    await modify(this.#context, this.#target(id), { ...ownWrite, needsRevision: true, wanted: () => wanted });
  }

  #target({ resource, key }: ObjectId): ObjectTarget {
    const definition = this.#context.registry.get(resource);
    if (definition === undefined) throw new Error(`Cannot collect ${resource} "${key}": the resource is not served`);
    const slash = key.indexOf("/");
    const namespace = slash < 0 ? undefined : key.slice(0, slash);
    return {
      definition,
      version: definition.versions[0],
      namespace,
      name: key.slice(slash + 1),
      subresource: undefined,
    };
  }
}

/** The object's own finalizers take precedence over the propagation of its owner. */
function propagationOf({ metadata: { finalizers = [] } }: ApiObject, awaited: boolean): DeleteOptions["propagation"] {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return awaited || finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

function isInteresting({ metadata }: ApiObject): boolean {
  if ((metadata.ownerReferences ?? []).length > 0) return true;
  const finalizers = metadata.deletionTimestamp === undefined ? [] : (metadata.finalizers ?? []);
  return finalizers.includes(orphanFinalizer) || finalizers.includes(foregroundFinalizer);
}

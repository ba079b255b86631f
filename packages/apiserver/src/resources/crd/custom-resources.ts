import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { crds } from "@agent-sandbox/api/crds";
import { ApiError } from "../../api-error.ts";
import { type ApiObject, storeKey, withMetadata } from "../../api-object.ts";
import { WorkSet } from "../../gc/work-set.ts";
import { equalJson } from "../../json.ts";
import type { Logger } from "../../logger.ts";
import type { ResourceChange, Stored } from "../../store/store.ts";
import { type ApiContext, admissionContext } from "../../verbs/context.ts";
import { remove } from "../../verbs/delete.ts";
import { withRevision } from "../admission.ts";
import { defineCustom } from "../custom.ts";
import type { ResourceDefinition } from "../definition.ts";
import { createdMetadata } from "../metadata.ts";
import { defaulted } from "../schema.ts";
import { cleanupFinalizer, isEstablished } from "./accepted-names.ts";
import { crdStrategy, ownNames } from "./crd-strategy.ts";
import { converterOf } from "./webhook-conversion.ts";

const crdId = "customresourcedefinitions";

/** Serves custom resources as soon as their definition is saved, and deletes their objects with the definition. */
export class CustomResources {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  #unsubscribe: () => void = () => undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#work = new WorkSet((name) => this.#clean(name), logger);
    for (const { object } of context.store.list(crdId)) this.#serve(object.metadata.name as string);
    this.#unsubscribe = context.store.subscribe(undefined, (changes) => this.#notice(changes));
  }

  start(): void {
    for (const { object } of this.#context.store.list(crdId)) this.#lookAt(object.metadata.name as string);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#work.stop();
  }

  #notice(changes: readonly ResourceChange[]): void {
    for (const { resource, change } of changes) {
      if (resource === crdId) this.#serve(change.key);
      if (resource === crdId) this.#lookAt(change.key);
      else if (change.stored === undefined) this.#lookAt(resource);
    }
  }

  #serve(name: string): void {
    if (ownNames.has(name)) return;
    const stored = this.#context.store.get(crdId, name);
    const served = stored !== undefined && isEstablished(stored.object);
    this.#context.registry.setCustom(name, served ? this.#define(stored) : undefined);
  }

  #define({ object, revision }: Stored): ResourceDefinition {
    const crd = object as unknown as CustomResourceDefinition;
    return { ...defineCustom(crd), definedAt: revision, converter: converterOf(crd, this.#context) };
  }

  #lookAt(name: string): void {
    const crd = this.#context.store.get(crdId, name)?.object;
    if (crd?.metadata.deletionTimestamp !== undefined) this.#work.add(name);
  }

  async #clean(name: string): Promise<void> {
    const definition = this.#context.registry.get(name);
    const objects = definition === undefined ? [] : [...this.#context.store.list(definition.id)];
    if (definition === undefined || objects.length === 0) return this.#release(name);
    const doomed = objects.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
    await Promise.all(
      doomed.map(async ({ object }) => {
        const { name: own = "", namespace, uid } = object.metadata;
        const target = { definition, version: definition.versions[0], namespace, name: own, subresource: undefined };
        await remove(this.#context, target, { uid, propagation: "Background" }).catch(ignoreGone);
      }),
    );
  }

  /** Removes the finalizer of a definition without objects. */
  async #release(name: string): Promise<void> {
    await this.#context.store.write((view, revision) => {
      const crd = view.get(crdId, name)?.object;
      const { deletionTimestamp, finalizers = [] } = crd?.metadata ?? {};
      if (crd === undefined || deletionTimestamp === undefined || !finalizers.includes(cleanupFinalizer)) {
        return { result: undefined };
      }
      const rest = finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
      const object = rest.length === 0 ? undefined : withRevision(withMetadata(crd, { finalizers: rest }), revision);
      return { write: { resource: crdId, key: storeKey(undefined, name), object }, result: undefined };
    });
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError) || (error.reason !== "NotFound" && error.reason !== "Conflict")) throw error;
}

/** Stores the definitions of the built-in kinds of this release, so that clients can list them. */
export async function installOwnDefinitions(context: ApiContext): Promise<void> {
  await Promise.all(crds.map((crd) => installOwn(context, crd)));
}

async function installOwn(context: ApiContext, crd: CustomResourceDefinition): Promise<void> {
  const schema = context.registry.get(crdId)?.versions[0].schema;
  const name = crd.metadata.name as string;
  const admission = admissionContext(context);
  await context.store.write((view, revision) => {
    const old = view.get(crdId, name)?.object;
    const given = { ...crd, metadata: old?.metadata ?? {} } as unknown as ApiObject;
    const shaped = crdStrategy.setDefaults?.(schema === undefined ? given : defaulted(given, schema)) ?? given;
    if (old !== undefined && equalJson(shaped["spec"], old["spec"])) return { result: undefined };
    const made = { name, namespace: undefined, nowMs: admission.nowMs, hasGeneration: true };
    const metadata = old?.metadata ?? createdMetadata({}, made);
    const prepared = crdStrategy.prepareCreate?.({ ...shaped, metadata }, admission) ?? shaped;
    return { write: { resource: crdId, key: name, object: withRevision(prepared, revision) }, result: undefined };
  });
}

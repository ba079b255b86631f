import { ApiError } from "../api-error.ts";
import { type ApiObject, storeKey } from "../api-object.ts";
import type { Logger } from "../logger.ts";
import { withRevision } from "../resources/admission.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { ResourceChange } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { remove } from "../verbs/delete.ts";
import { isGone } from "../verbs/delete-rules.ts";
import { WorkSet } from "./work-set.ts";

const namespaces = "namespaces";
/** Concurrent deletions. Bounded, so that a large namespace does not fill the shared queue of writes. */
const concurrency = 256;

/** Deletes the objects of namespaces that are being deleted, and then removes the finalizer of the namespace. */
export class NamespaceCleaner {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  #unsubscribe: () => void = () => undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#work = new WorkSet((name) => this.#clean(name), logger);
  }

  start(): void {
    const { store } = this.#context;
    this.#unsubscribe = store.subscribe(undefined, (changes) => this.#notice(changes));
    for (const { object } of store.list(namespaces)) this.#lookAt(object.metadata.name as string);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#work.stop();
  }

  #notice(changes: readonly ResourceChange[]): void {
    for (const { resource, change } of changes) {
      if (resource === namespaces) this.#lookAt(change.key);
      else if (change.stored === undefined) this.#lookAt(change.key.split("/", 1)[0] as string);
    }
  }

  #lookAt(name: string): void {
    const namespace = this.#context.store.get(namespaces, name)?.object;
    if (namespace?.metadata.deletionTimestamp !== undefined) this.#work.add(name);
  }

  async #clean(name: string): Promise<void> {
    const { registry } = this.#context;
    const contents = registry.definitions.flatMap((definition) => this.#contents(definition, name));
    if (contents.length === 0) return this.#release(name);
    const doomed = contents.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
    for (let at = 0; at < doomed.length; at += concurrency) {
      const batch = doomed.slice(at, at + concurrency);
      await Promise.all(batch.map(({ definition, object }) => this.#remove(definition, object)));
    }
  }

  #contents(
    definition: ResourceDefinition,
    namespace: string,
  ): { definition: ResourceDefinition; object: ApiObject }[] {
    if (!definition.namespaced) return [];
    return [...this.#context.store.list(definition.id, `${namespace}/`)].map(({ object }) => ({ definition, object }));
  }

  async #remove(definition: ResourceDefinition, { metadata }: ApiObject): Promise<void> {
    const { name = "", namespace, uid } = metadata;
    const target = { definition, version: definition.versions[0], namespace, name, subresource: undefined };
    await remove(this.#context, target, { uid, propagation: "Background" }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || (error.reason !== "NotFound" && error.reason !== "Conflict")) throw error;
    });
  }

  async #release(name: string): Promise<void> {
    const definition = this.#context.registry.get(namespaces) as ResourceDefinition;
    await this.#context.store.write((view, revision) => {
      const old = view.get(namespaces, name)?.object;
      if (old?.metadata.deletionTimestamp === undefined) return { result: undefined };
      const object = withRevision({ ...old, spec: {} }, revision);
      const gone = isGone(definition, object);
      return {
        write: { resource: namespaces, key: storeKey(undefined, name), object: gone ? undefined : object },
        result: undefined,
      };
    });
  }
}

import { ApiError } from "../api-error.ts";
import { WorkSet } from "../gc/work-set.ts";
import type { Logger } from "../logger.ts";
import type { ResourceChange } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create } from "../verbs/create.ts";
import { ownWrite } from "../verbs/write-options.ts";
import type { ResourceDefinition } from "./definition.ts";

const accountName = "default";

/** Creates the ServiceAccount `default` in every namespace, and creates it again when it is deleted. */
export class DefaultAccounts {
  readonly #context: ApiContext;
  readonly #work: WorkSet;
  #unsubscribe: () => void = () => undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#work = new WorkSet((namespace) => this.#ensure(namespace), logger);
  }

  start(): void {
    const { store } = this.#context;
    this.#unsubscribe = store.subscribe(undefined, (changes) => this.#notice(changes));
    for (const { object } of store.list("namespaces")) this.#work.add(object.metadata.name as string);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#work.stop();
  }

  #notice(changes: readonly ResourceChange[]): void {
    for (const { resource, change } of changes) {
      if (resource === "namespaces" && change.previous === undefined) this.#work.add(change.key);
      if (resource === "serviceaccounts" && change.stored === undefined && change.key.endsWith(`/${accountName}`)) {
        this.#work.add(change.key.split("/", 1)[0] as string);
      }
    }
  }

  async #ensure(namespace: string): Promise<void> {
    const { store, registry } = this.#context;
    const found = store.get("namespaces", namespace)?.object;
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return;
    if (store.get("serviceaccounts", `${namespace}/${accountName}`) !== undefined) return;
    const definition = registry.get("serviceaccounts") as ResourceDefinition;
    const target = {
      definition,
      version: definition.versions[0],
      namespace,
      name: undefined,
      subresource: undefined,
    };
    const body = { metadata: { name: accountName } };
    await create(this.#context, target, body, ownWrite).catch((error: unknown) => {
      // Somebody else created the account, or the namespace is being deleted.
      if (!(error instanceof ApiError) || !expected.has(error.reason)) throw error;
    });
  }
}

const expected = new Set<ApiError["reason"]>(["AlreadyExists", "Forbidden", "NotFound"]);

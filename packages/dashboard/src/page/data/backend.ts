/**
 * Everything that a component needs to talk to the servers: `useBackend()`. It is made once the session is known. Stores are shared:
 * all components that show the same resource in the same scope use one list and one watch.
 */
import { createContext, useContext } from "react";
import { Access } from "./access.ts";
import { ApiClient } from "./api-client.ts";
import { ListStore, type Snapshot, type StoreOptions } from "./list-store.ts";
import { PollStore } from "./poll-store.ts";
import { groupOf, type KubeObject, type Resource } from "./resources.ts";
import { Runtime } from "./runtime.ts";
import type { Session } from "./session.ts";
import { Streams } from "./streams.ts";

export interface Store<T> {
  readonly subscribe: (listener: () => void) => () => void;
  readonly snapshot: () => Snapshot<T>;
  /** Whether no component reads it now. */
  readonly isIdle: () => boolean;
}

/** Each object that was shown has a store. Beyond this number, stores that no component reads are removed, the oldest first. */
const mostStores = 100;

export class Backend {
  readonly session: Session;
  readonly api: ApiClient;
  readonly streams: Streams;
  readonly access: Access;
  readonly runtime: Runtime;
  readonly #stores = new Map<string, Store<KubeObject>>();

  constructor(session: Session, onSignedOut: () => void) {
    this.session = session;
    this.api = new ApiClient(session.requestToken, onSignedOut);
    this.streams = new Streams(session.requestToken, onSignedOut);
    this.access = new Access(this.api);
    this.runtime = new Runtime(session, this.streams);
  }

  store<T extends KubeObject>(resource: Resource<T>, options: StoreOptions = {}): Store<T> {
    const { namespace, fieldSelector = "" } = options;
    const key = [resource.apiVersion, resource.plural, namespace ?? "", fieldSelector].join(" ");
    const known = this.#stores.get(key) as Store<T> | undefined;
    if (known !== undefined) return known;
    const store =
      groupOf(resource) === "metrics.k8s.io"
        ? new PollStore(resource, namespace, this)
        : new ListStore(resource, options, this);
    for (const [old, { isIdle }] of this.#stores) {
      if (this.#stores.size < mostStores) break;
      if (isIdle()) this.#stores.delete(old);
    }
    this.#stores.set(key, store);
    return store;
  }

  async logOut(): Promise<void> {
    await this.api.fetch("POST", "/logout");
  }
}

const context = createContext<Backend | undefined>(undefined);

export const BackendProvider = context.Provider;

export function useBackend(): Backend {
  const backend = useContext(context);
  if (backend === undefined) throw new Error("There is no session");
  return backend;
}

import {
  type Informer,
  type Informers,
  type KubeObject,
  type Resource,
  type Scope,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";

/**
 * An informer that is started by its first use: a cluster may not serve the kind, and controllers that rarely need it must run
 * there too. No controller waits for its cache.
 */
export class LateInformer<T extends KubeObject> {
  readonly #informers: Informers;
  readonly #resource: Resource<T>;
  readonly #scope: Pick<Scope, "namespace">;
  #informer: Informer<T> | undefined;
  #connect: ((informer: Informer<T>) => void) | undefined;

  constructor(informers: Informers, resource: Resource<T>, scope: Pick<Scope, "namespace">) {
    this.#informers = informers;
    this.#resource = resource;
    this.#scope = scope;
  }

  open(): Informer<T> {
    if (this.#informer === undefined) {
      this.#informer = this.#informers.get(this.#resource, this.#scope);
      this.#connect?.(this.#informer);
    }
    return this.#informer;
  }

  /** Enqueues the keys that belong to an object when it changes. */
  trigger(keysOf: (object: T) => readonly string[]): Trigger {
    return {
      cache: { resource: this.#resource, scope: this.#scope, synced: Promise.resolve(), hasSynced: true },
      connect: (add, ownWrites) => {
        const connections = new DisposableStack();
        this.#connect = (informer) => connections.use(watching(informer, keysOf).connect(add, ownWrites));
        if (this.#informer !== undefined) this.#connect(this.#informer);
        return connections;
      },
    };
  }
}

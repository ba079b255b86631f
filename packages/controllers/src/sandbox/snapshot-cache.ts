import { type Sandbox, type SandboxSnapshot, sandboxSnapshots } from "@agent-sandbox/api";
import {
  type Client,
  type Index,
  type Informer,
  type Informers,
  isReason,
  keyOf,
  objectKey,
  type Scope,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";
import { podSnapshotFor } from "./pod-snapshots.ts";
import { unrestoredSnapshot } from "./pod-source.ts";

/**
 * The SandboxSnapshots that Sandboxes are restored from. The list-watch starts with the first Sandbox that names one: a cluster may
 * not serve the kind, and the controller must run there too.
 */
export class SnapshotCache {
  readonly #informers: Informers;
  readonly #scope: Pick<Scope, "namespace">;
  readonly #bySource: Index<SandboxSnapshot> | undefined;
  #informer: Informer<SandboxSnapshot> | undefined;
  #connect: ((informer: Informer<SandboxSnapshot>) => void) | undefined;

  /** With `podSnapshots`, suspended Sandboxes resume from their Pod snapshots. The server must serve the kind then. */
  constructor(
    informers: Informers,
    { podSnapshots, ...scope }: Pick<Scope, "namespace"> & { readonly podSnapshots: boolean },
  ) {
    this.#informers = informers;
    this.#scope = scope;
    this.#bySource = podSnapshots ? this.#open().index("source", sourcesOf) : undefined;
  }

  /** The snapshot that the Sandbox is still to be restored from, or its Pod snapshot, if it exists. */
  async find(sandbox: Sandbox, client: Client): Promise<SandboxSnapshot | undefined> {
    const name = unrestoredSnapshot(sandbox);
    if (!name) return podSnapshotFor(sandbox, this.#bySource?.get(sandbox.metadata.uid ?? "") ?? []);
    const place = { namespace: sandbox.metadata.namespace ?? "", name };
    const informer = this.#open();
    if (informer.hasSynced) return informer.get(keyOf(place));
    try {
      return await client.get(sandboxSnapshots, place);
    } catch (error) {
      // Also the answer of a server that does not serve the kind.
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Enqueues the Sandboxes that name a snapshot when it changes. The controller does not wait for this cache. */
  trigger(sandboxes: Informer<Sandbox>): Trigger {
    const bySnapshot = sandboxes.index("snapshot", snapshotKeys);
    return {
      cache: { resource: sandboxSnapshots, scope: this.#scope, synced: Promise.resolve(), hasSynced: true },
      connect: (add, ownWrites) => {
        const connections = new DisposableStack();
        this.#connect = (informer) => {
          const keysOf = (snapshot: SandboxSnapshot): string[] => bySnapshot.get(objectKey(snapshot)).map(objectKey);
          connections.use(watching(informer, keysOf).connect(add, ownWrites));
        };
        if (this.#informer !== undefined) this.#connect(this.#informer);
        return connections;
      },
    };
  }

  #open(): Informer<SandboxSnapshot> {
    if (this.#informer === undefined) {
      this.#informer = this.#informers.get(sandboxSnapshots, this.#scope);
      this.#connect?.(this.#informer);
    }
    return this.#informer;
  }
}

/** The namespace is part of a UID: a snapshot is always of a Sandbox in its own namespace. */
function sourcesOf({ status }: SandboxSnapshot): string[] {
  return status?.sourceUID === undefined ? [] : [status.sourceUID];
}

function snapshotKeys(sandbox: Sandbox): string[] {
  const name = unrestoredSnapshot(sandbox);
  return name ? [keyOf({ namespace: sandbox.metadata.namespace ?? "", name })] : [];
}

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
import { LateInformer } from "../late-informer.ts";
import { podSnapshotFor } from "./pod-snapshots.ts";
import { unrestoredSnapshot } from "./pod-source.ts";

/** The SandboxSnapshots that Sandboxes are restored from. */
export class SnapshotCache {
  readonly #snapshots: LateInformer<SandboxSnapshot>;
  readonly #bySource: Index<SandboxSnapshot> | undefined;

  /** With `podSnapshots`, suspended Sandboxes resume from their Pod snapshots. The server must serve the kind then. */
  constructor(
    informers: Informers,
    { podSnapshots, ...scope }: Pick<Scope, "namespace"> & { readonly podSnapshots: boolean },
  ) {
    this.#snapshots = new LateInformer(informers, sandboxSnapshots, scope);
    this.#bySource = podSnapshots ? this.#snapshots.open().index("source", sourcesOf) : undefined;
  }

  /** The snapshot that the Sandbox is still to be restored from, or its Pod snapshot, if it exists. */
  async find(sandbox: Sandbox, client: Client): Promise<SandboxSnapshot | undefined> {
    const name = unrestoredSnapshot(sandbox);
    if (!name) return podSnapshotFor(sandbox, this.#bySource?.get(sandbox.metadata.uid ?? "") ?? []);
    const place = { namespace: sandbox.metadata.namespace ?? "", name };
    const informer = this.#snapshots.open();
    if (informer.hasSynced) return informer.get(keyOf(place));
    try {
      return await client.get(sandboxSnapshots, place);
    } catch (error) {
      // Also the answer of a server that does not serve the kind.
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /**
   * Enqueues the Sandboxes that name a snapshot when it changes. With Pod snapshots, the controller waits for the cache: before its
   * first list, a Sandbox would be resumed without them.
   */
  trigger(sandboxes: Informer<Sandbox>): Trigger {
    const bySnapshot = sandboxes.index("snapshot", snapshotKeys);
    const keysOf = (snapshot: SandboxSnapshot): string[] => bySnapshot.get(objectKey(snapshot)).map(objectKey);
    return this.#bySource === undefined ? this.#snapshots.trigger(keysOf) : watching(this.#snapshots.open(), keysOf);
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

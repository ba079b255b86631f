import {
  isConditionTrue,
  type SandboxSnapshot,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
} from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject } from "@agent-sandbox/kube";
import { makeRoom, type QuotaRequest, type SnapshotQuota } from "./snapshot-quota.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";

export interface Admission {
  readonly client: Client;
  readonly store: SnapshotStore;
  readonly quota: SnapshotQuota;
  /** Whether older snapshots may be deleted. Default true. */
  readonly mayEvict?: boolean;
}

/**
 * Makes room for a snapshot of the given size, by deleting the oldest snapshots of its namespace that nothing refers to and whose
 * deletion policy is Delete. Throws `QuotaExceeded` if that is not enough. Returns the names of the deleted snapshots.
 */
export async function admitSnapshot(
  { client, store, quota, mayEvict = true }: Admission,
  { metadata: { namespace = "", uid = "" } }: SandboxSnapshot,
  { sandboxUid, bytes }: Pick<QuotaRequest, "sandboxUid" | "bytes">,
): Promise<readonly string[]> {
  const stored = (await store.list()).filter((one) => one.uid !== uid);
  const wanted = { namespace, sandboxUid, bytes };
  const room = makeRoom(stored, { ...wanted, evictable: new Set() }, quota);
  if (!("refusal" in room)) return [];
  const evictable = mayEvict ? await evictableIn(client, namespace) : new Set<string>();
  const decision = makeRoom(stored, { ...wanted, evictable }, quota);
  if ("refusal" in decision) throw new StateError("QuotaExceeded", `Cannot take a snapshot: ${decision.refusal}`);
  for (const { name, uid: old } of decision.evict) {
    await client
      .delete(sandboxSnapshots, { namespace, name }, { preconditions: { uid: old } })
      .catch((error: unknown) => {
        if (!isReason(error, "NotFound", "Conflict")) throw error;
      });
    await store.remove(old);
  }
  return decision.evict.map(({ name }) => name);
}

type Referrer = KubeObject & {
  readonly spec?: { readonly restoreFrom?: { readonly snapshotRef?: { readonly name?: string } } };
};

/** The UIDs of complete snapshots that nobody asked to keep. */
async function evictableIn(client: Client, namespace: string): Promise<ReadonlySet<string>> {
  const [{ items: snapshots }, ...referrers] = await Promise.all([
    client.list(sandboxSnapshots, { namespace }),
    client.list<Referrer>(sandboxes, { namespace }),
    client.list<Referrer>(sandboxClaims, { namespace }),
    client.list<Referrer>(sandboxTemplates, { namespace }),
  ]);
  const named = referrers.flatMap(({ items }) => items.map(({ spec }) => spec?.restoreFrom?.snapshotRef?.name));
  const wanted = new Set(named);
  return new Set(
    snapshots
      .filter(({ spec, status }) => spec.deletionPolicy !== "Retain" && isConditionTrue(status?.conditions, "Ready"))
      .filter(({ metadata }) => !wanted.has(metadata.name))
      .flatMap(({ metadata }) => metadata.uid ?? []),
  );
}

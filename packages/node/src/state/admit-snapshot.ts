import { isConditionTrue, sandboxClaims, sandboxes, sandboxSnapshots, sandboxTemplates } from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject } from "@agent-sandbox/kube";
import { type CountedSnapshot, countTogether, makeRoom, type QuotaRequest } from "./snapshot-quota.ts";
import type { SnapshotNeeds, SnapshotRoom } from "./snapshot-room.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";

export interface Admission {
  readonly client: Client;
  readonly store: SnapshotStore;
  readonly room: SnapshotRoom;
  /** Whether older snapshots may be deleted. Default true. */
  readonly mayEvict?: boolean;
}

export interface AdmissionRequest extends SnapshotNeeds, Pick<QuotaRequest, "namespace" | "sandboxUid"> {
  /** Identifies the snapshot until it is complete: its UID, if it has one already. */
  readonly key: string;
}

/**
 * Admits a snapshot if there is room, or if there will be after the oldest snapshots of its namespace that nothing refers to and whose
 * deletion policy is Delete are deleted. They are deleted when it is written, so that nothing is lost if it cannot be written. Throws
 * `QuotaExceeded` if that is not enough, or if the disk is too full. The snapshot counts from then on, until the caller releases it.
 * Returns the names of the deleted snapshots.
 */
export function admitSnapshot(admission: Admission, request: AdmissionRequest): Promise<readonly string[]> {
  return admission.room.alone(request.namespace, () => admit(admission, request));
}

async function admit(
  { client, store, room, mayEvict = true }: Admission,
  { key, namespace, sandboxUid, bytes, diskBytes, isWritten = false }: AdmissionRequest,
): Promise<readonly string[]> {
  // Read before the list, so that a snapshot that is completed in between is in one of the two.
  const pending = room.pending(key);
  const complete = (await store.list()).filter(({ uid }) => uid !== key);
  const counted = countTogether(complete, pending);
  const wanted = { namespace, sandboxUid, bytes };
  const evict = await decide(counted, wanted, { room, evictable: () => evictableIn(client, namespace, mayEvict) });
  await room.checkDisk(key, diskBytes);
  const own = { uid: key, namespace, name: "", sandbox: { uid: sandboxUid }, sizeBytes: bytes, createdAt: 0 };
  if (isWritten) await remove({ client, store }, evict);
  room.reserve(key, { counted: own, diskBytes, replaced: isWritten ? [] : evict });
  return isWritten ? evict.map(({ name }) => name) : [];
}

async function remove(
  { client, store }: Pick<Admission, "client" | "store">,
  snapshots: readonly CountedSnapshot[],
): Promise<void> {
  for (const { namespace, name, uid } of snapshots) {
    await client.delete(sandboxSnapshots, { namespace, name }, { preconditions: { uid } }).catch((error: unknown) => {
      if (!isReason(error, "NotFound", "Conflict")) throw error;
    });
    await store.remove(uid);
  }
}

/** The snapshots to delete. The API server is asked which ones may be deleted only if there is no room without that. */
async function decide(
  counted: readonly CountedSnapshot[],
  wanted: Omit<QuotaRequest, "evictable">,
  { room, evictable }: { readonly room: SnapshotRoom; readonly evictable: () => Promise<ReadonlySet<string>> },
): Promise<readonly CountedSnapshot[]> {
  const without = makeRoom(counted, { ...wanted, evictable: new Set() }, room.quota);
  if (!("refusal" in without)) return [];
  const decision = makeRoom(counted, { ...wanted, evictable: await evictable() }, room.quota);
  if ("refusal" in decision) throw new StateError("QuotaExceeded", `Cannot store the snapshot: ${decision.refusal}`);
  return decision.evict;
}

type Referrer = KubeObject & {
  readonly spec?: { readonly restoreFrom?: { readonly snapshotRef?: { readonly name?: string } } };
};

/** The UIDs of complete snapshots that nobody asked to keep. */
async function evictableIn(client: Client, namespace: string, mayEvict: boolean): Promise<ReadonlySet<string>> {
  if (!mayEvict) return new Set();
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

import type { StateLimits } from "./limits.ts";
import type { StoredSnapshot } from "./snapshot-store.ts";

/** How many snapshots there may be, and how large they may be together. */
export type SnapshotQuota = Pick<
  StateLimits,
  "snapshots" | "snapshotsPerNamespace" | "snapshotsPerSandbox" | "snapshotBytes" | "snapshotBytesPerNamespace"
>;

/** What the quota knows about a snapshot. */
export type CountedSnapshot = Pick<StoredSnapshot, "uid" | "namespace" | "name" | "sizeBytes" | "createdAt"> & {
  readonly sandbox: Pick<StoredSnapshot["sandbox"], "uid">;
};

export interface QuotaRequest {
  readonly namespace: string;
  /** The UID of the Sandbox that the snapshot is taken of. */
  readonly sandboxUid: string;
  /** The expected size of the new snapshot. */
  readonly bytes: number;
  /** The UIDs of snapshots of the namespace that may be removed to make room. */
  readonly evictable: ReadonlySet<string>;
}

/** The snapshots to remove first, or why there is no room. */
export type QuotaDecision = { readonly evict: readonly CountedSnapshot[] } | { readonly refusal: string };

/** Why there is no room, and the snapshots that would have to go. */
interface Excess {
  readonly refusal: string;
  readonly among: (stored: CountedSnapshot) => boolean;
}

/**
 * Makes room for a new snapshot by removing the oldest evictable snapshots of the same namespace, or of the same Sandbox if that has
 * too many. No namespace loses a snapshot because of another: a quota of the whole node that others use up is a refusal.
 */
export function makeRoom(
  stored: readonly CountedSnapshot[],
  request: QuotaRequest,
  quota: SnapshotQuota,
): QuotaDecision {
  const evict: CountedSnapshot[] = [];
  const candidates = stored
    .filter((one) => one.namespace === request.namespace && request.evictable.has(one.uid))
    .toSorted((a, b) => a.createdAt - b.createdAt);
  for (;;) {
    const isLeft = (one: CountedSnapshot): boolean => !evict.includes(one);
    const excess = excessOf(stored.filter(isLeft), request, quota);
    if (excess === undefined) return { evict };
    const oldest = candidates.find((one) => isLeft(one) && excess.among(one));
    if (oldest === undefined) return { refusal: excess.refusal };
    evict.push(oldest);
  }
}

function excessOf(
  stored: readonly CountedSnapshot[],
  { namespace, sandboxUid, bytes }: QuotaRequest,
  quota: SnapshotQuota,
): Excess | undefined {
  const ofNamespace = (one: CountedSnapshot): boolean => one.namespace === namespace;
  const ofSandbox = (one: CountedSnapshot): boolean => ofNamespace(one) && one.sandbox.uid === sandboxUid;
  const own = stored.filter(ofNamespace);
  const whose = `the namespace "${namespace}"`;
  const tooMany = (found: readonly unknown[], most: number, where: string): string | undefined =>
    found.length + 1 > most ? `${where} may have ${most} snapshots` : undefined;
  const tooLarge = (found: readonly CountedSnapshot[], most: number, where: string): string | undefined =>
    found.reduce((sum, { sizeBytes }) => sum + sizeBytes, bytes) > most
      ? `the snapshots of ${where} may have ${most} bytes together`
      : undefined;
  const ofOne = tooMany(stored.filter(ofSandbox), quota.snapshotsPerSandbox, "the Sandbox");
  if (ofOne !== undefined) return { refusal: ofOne, among: ofSandbox };
  const refusal =
    tooMany(own, quota.snapshotsPerNamespace, whose) ??
    tooLarge(own, quota.snapshotBytesPerNamespace, whose) ??
    tooMany(stored, quota.snapshots, "this node") ??
    tooLarge(stored, quota.snapshotBytes, "this node");
  return refusal === undefined ? undefined : { refusal, among: ofNamespace };
}

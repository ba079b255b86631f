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

/** A snapshot that is being taken or imported. */
export interface PendingSnapshot {
  readonly counted: CountedSnapshot;
  /** Bytes that are still to be written to the disk. */
  readonly diskBytes: number;
  /** The snapshots that will be deleted when this one is written. */
  readonly replaced: readonly CountedSnapshot[];
}

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

/** What counts of complete snapshots and of those that are being taken or imported. */
export function countTogether(
  complete: readonly CountedSnapshot[],
  pending: readonly PendingSnapshot[],
): readonly CountedSnapshot[] {
  const done = new Set(complete.map(({ uid }) => uid));
  const others = pending.filter(({ counted }) => !done.has(counted.uid));
  const replaced = new Set(others.flatMap((one) => one.replaced.map(({ uid }) => uid)));
  return [...complete.filter(({ uid }) => !replaced.has(uid)), ...others.flatMap(mostOf)];
}

/**
 * What counts of a pending snapshot: itself or the snapshots that it replaces, whichever is more, because it may still fail. They have its
 * UID here, so that no other snapshot replaces them too.
 */
function mostOf({ counted, replaced }: PendingSnapshot): readonly CountedSnapshot[] {
  const [first, ...rest] = replaced;
  if (first === undefined) return [counted];
  const more = replaced.reduce((left, { sizeBytes }) => left - sizeBytes, counted.sizeBytes);
  const most = { ...first, sizeBytes: first.sizeBytes + Math.max(0, more) };
  return [most, ...rest].map((one) => ({ ...one, uid: counted.uid }));
}

import type { StoredSnapshot } from "./snapshot-store.ts";

/** How many snapshots there may be, and how large they may be together. */
export interface SnapshotLimits {
  readonly count: number;
  readonly bytes: number;
}

export interface SnapshotQuota {
  readonly namespace: SnapshotLimits;
  readonly total: SnapshotLimits;
}

/** A namespace cannot use more than a quarter of what the node keeps. */
export const snapshotQuota: SnapshotQuota = {
  namespace: { count: 64, bytes: 16 * 2 ** 30 },
  total: { count: 256, bytes: 64 * 2 ** 30 },
};

export interface QuotaRequest {
  readonly namespace: string;
  /** The expected size of the new snapshot. */
  readonly bytes: number;
  /** The UIDs of snapshots of the namespace that may be removed to make room. */
  readonly evictable: ReadonlySet<string>;
}

/** The snapshots to remove first, or why there is no room. */
export type QuotaDecision = { readonly evict: readonly StoredSnapshot[] } | { readonly refusal: string };

/**
 * Makes room for a new snapshot by removing the oldest evictable snapshots of the same namespace. No namespace loses a snapshot
 * because of another: a quota of the whole node that others use up is a refusal.
 */
export function makeRoom(
  stored: readonly StoredSnapshot[],
  { namespace, bytes, evictable }: QuotaRequest,
  quota: SnapshotQuota = snapshotQuota,
): QuotaDecision {
  const evict: StoredSnapshot[] = [];
  const candidates = stored
    .filter((one) => one.namespace === namespace && evictable.has(one.uid))
    .toSorted((a, b) => a.createdAt - b.createdAt);
  for (;;) {
    const left = stored.filter((one) => !evict.includes(one));
    const refusal = excess(left, { namespace, bytes }, quota);
    if (refusal === undefined) return { evict };
    const oldest = candidates.shift();
    if (oldest === undefined) return { refusal };
    evict.push(oldest);
  }
}

function excess(
  stored: readonly StoredSnapshot[],
  { namespace, bytes }: Pick<QuotaRequest, "namespace" | "bytes">,
  quota: SnapshotQuota,
): string | undefined {
  const own = stored.filter((one) => one.namespace === namespace);
  return (
    beyond(own, bytes, quota.namespace, `the namespace "${namespace}"`) ??
    beyond(stored, bytes, quota.total, "this node")
  );
}

function beyond(
  stored: readonly StoredSnapshot[],
  bytes: number,
  limits: SnapshotLimits,
  where: string,
): string | undefined {
  if (stored.length + 1 > limits.count) return `${where} may have ${limits.count} snapshots`;
  const used = stored.reduce((sum, { sizeBytes }) => sum + sizeBytes, bytes);
  return used > limits.bytes ? `the snapshots of ${where} may have ${limits.bytes} bytes together` : undefined;
}

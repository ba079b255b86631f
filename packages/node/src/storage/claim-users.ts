import type { Pod } from "@agent-sandbox/api";
import type { PodRecords } from "../pod/record.ts";

/** The claims that a Pod uses, as `namespace/name`. A finished Pod uses none. */
export function claimsOf({ metadata, spec, status }: Pod): string[] {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return [];
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [`${metadata?.namespace}/${persistentVolumeClaim.claimName}`],
  );
}

/**
 * A Pod in this node's records that may have a folder mounted. The Pods in the API are not enough: a Pod deleted with grace
 * period 0 is removed from the API while its processes still run. A Pod whose volumes are being created, or whose record
 * cannot be read, may have any folder mounted.
 */
export async function runningUserOf(
  records: Pick<PodRecords, "list">,
  { folder, namespace }: { readonly folder: string; readonly namespace: string },
): Promise<string | undefined> {
  for (const [uid, record] of await records.list()) {
    if (record === undefined) return uid;
    const isBeingMade = !record.prepared && record.namespace === namespace;
    const hasIt = Object.values(record.volumes ?? {}).some(({ path }) => path === folder);
    if (!record.released && (isBeingMade || hasIt)) return `${record.namespace}/${record.name}`;
  }
  return undefined;
}

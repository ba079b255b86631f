import { union } from "./field-set.ts";
import { compareNames, entryId, type ManagedEntry, type ManagedTable, secondsOf } from "./managed-table.ts";

/** The limit of kube-apiserver. */
export const maxUpdaters = 10;
const bucketManager = "ancient-changes";

/**
 * Limits the number of updaters: beyond the limit, the oldest entries of a version are merged into one. Only an object that
 * was updated in more versions than the limit has more entries.
 */
export function withBoundedUpdaters(table: ManagedTable): ManagedTable {
  const updaters = [...table.values()].filter(({ operation }) => operation === "Update").sort(oldestFirst);
  let excess = updaters.length - maxUpdaters;
  if (excess <= 0) return table;
  const result = new Map(table);
  const firstOf = new Map<string, ManagedEntry>();
  for (const entry of updaters) {
    if (excess <= 0) break;
    const first = firstOf.get(entry.apiVersion);
    if (first === undefined) {
      firstOf.set(entry.apiVersion, entry);
      continue;
    }
    const bucket: ManagedEntry = { ...entry, manager: bucketManager, subresource: "" };
    const id = entryId(bucket);
    // The entry to merge may itself be the merged entry of an earlier update.
    const old = id === entryId(entry) ? first : (result.get(id) ?? first);
    result.delete(entryId(old));
    result.delete(entryId(entry));
    result.set(id, { ...bucket, fields: union(entry.fields, old.fields) });
    excess -= 1;
  }
  return result;
}

function oldestFirst(left: ManagedEntry, right: ManagedEntry): number {
  return secondsOf(left.time) - secondsOf(right.time) || compareNames(entryId(left), entryId(right));
}

import { union } from "./field-set.ts";
import { compareNames, entryId, type ManagedEntry, type ManagedTable, secondsOf } from "./managed-table.ts";

/** As many updaters as Kubernetes keeps apart. */
export const maxUpdaters = 10;
const bucketManager = "ancient-changes";

/**
 * Keeps the number of updaters bounded: past the bound, the oldest of a version become one entry. The bound is missed only by
 * an object that was updated in more versions than it allows entries.
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
    // The bucket of an earlier time may itself be the entry whose turn it is.
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

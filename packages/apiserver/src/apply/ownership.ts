import { type Comparison, compare, ignoring } from "./compare.ts";
import { difference, intersection, isEmptySet, noFields, pathsOf, union } from "./field-set.ts";
import { entryId, type ManagedEntry, type ManagedTable } from "./managed-table.ts";
import type { FieldPath } from "./path-element.ts";
import { reconcileFields } from "./reconcile.ts";
import { converted, type KindVersions, resetFields, type Versioned } from "./versioned.ts";

/** A field that one manager changes and another one owns. */
export interface FieldConflict {
  readonly owner: ManagedEntry;
  readonly path: FieldPath;
}

export interface Transition {
  readonly kind: KindVersions;
  readonly before: Versioned;
  readonly after: Versioned;
  readonly table: ManagedTable;
  /** The id of the entry that makes the change. It loses no fields. */
  readonly self?: string;
  /** The changes in the version of the objects, if they are already computed. */
  readonly changes?: Comparison | undefined;
}

export interface Losses {
  /** The table without the fields that other managers lost, because they were changed or removed. */
  readonly table: ManagedTable;
  readonly conflicts: readonly FieldConflict[];
  /** The changes in the version of the objects. */
  readonly changes: Comparison;
}

/** Removes changed and removed fields from the entries of the managers that did not make the change. */
export function removeLostFields({ kind, before, after, table, self, changes: known }: Transition): Losses {
  const changesIn = comparer({ kind, before, after, changes: known });
  const changes = changesIn(before.object.apiVersion) as Comparison;
  const rest = new Map<string, ManagedEntry>();
  const conflicts: FieldConflict[] = [];
  for (const [id, entry] of table) {
    const seen = id === self ? nothing : changesIn(entry.apiVersion);
    if (seen === undefined) continue;
    const lost = intersection(entry.fields, union(seen.modified, seen.added));
    for (const path of pathsOf(lost)) conflicts.push({ owner: entry, path });
    const fields = difference(difference(entry.fields, lost), seen.removed);
    if (!isEmptySet(fields)) rest.set(id, fields === entry.fields ? entry : { ...entry, fields });
  }
  return { table: rest, conflicts: conflicts.sort(byOwner), changes };
}

const nothing: Comparison = { added: noFields, modified: noFields, removed: noFields };

function byOwner({ owner: left }: FieldConflict, { owner: right }: FieldConflict): number {
  const [a, b] = [entryId(left), entryId(right)];
  return a < b ? -1 : Number(a > b);
}

/** Returns a function that compares the objects in any version, once each; `undefined` for a version that no longer exists. */
function comparer({
  kind,
  before,
  after,
  changes,
}: Pick<Transition, "kind" | "before" | "after" | "changes">): (apiVersion: string) => Comparison | undefined {
  const made = new Map<string, Comparison | undefined>();
  if (changes !== undefined) made.set(before.object.apiVersion, changes);
  return (apiVersion) => {
    if (!made.has(apiVersion)) {
      const old = converted(kind, before, apiVersion);
      const now = converted(kind, after, apiVersion);
      made.set(apiVersion, old === undefined || now === undefined ? undefined : changesBetween(kind, old, now));
    }
    return made.get(apiVersion);
  };
}

/** The changes to fields that the endpoint may write. Both objects must have the same version. */
export function changesBetween(kind: KindVersions, before: Versioned, after: Versioned): Comparison {
  const changes = compare(before.object, after.object, before.type);
  return ignoring(changes, resetFields(kind, before.object.apiVersion));
}

/** Updates a stored table to the current schemas: drops entries of removed versions and merges fields that became atomic. */
export function currentTable(kind: KindVersions, table: ManagedTable, live: Versioned): ManagedTable {
  const current = new Map<string, ManagedEntry>();
  for (const [id, entry] of table) {
    const type = converted(kind, live, entry.apiVersion)?.type;
    if (type === undefined) continue;
    const fields = reconcileFields(entry.fields, type);
    current.set(id, fields === entry.fields ? entry : { ...entry, fields });
  }
  return current;
}

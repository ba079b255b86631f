import type { ApiObject } from "../api-object.ts";
import { fieldsOf } from "./extract.ts";
import { difference, type FieldSet, intersection, isEmptySet, noFields, union } from "./field-set.ts";
import { entryId, type ManagedEntry, type ManagedTable } from "./managed-table.ts";
import { withNamedFields } from "./named-fields.ts";
import { neverOwned } from "./never-owned.ts";
import { removeFields } from "./remove.ts";
import { converted, type KindVersions, type Versioned } from "./versioned.ts";

export interface Pruning {
  readonly kind: KindVersions;
  readonly merged: Versioned;
  /** All entries, including the applier's new one. */
  readonly table: ManagedTable;
  /** The applier's previous entry. */
  readonly last: ManagedEntry | undefined;
}

/**
 * Removes the fields that the applier no longer applies and that nobody else owns. Keeps fields without an owner, and those
 * that contain a field of another manager.
 */
export function prune({ kind, merged, table, last }: Pruning): Versioned {
  // A client may have written the entry, so the identity of the object must be protected.
  const fields = difference(last?.fields ?? noFields, neverOwned);
  if (last === undefined || isEmptySet(fields)) return merged;
  const now = table.get(entryId(last));
  // The usual case: the configuration has all fields of the previous one.
  if (now?.apiVersion === last.apiVersion && isEmptySet(difference(fields, now.fields))) return merged;
  const before = converted(kind, merged, last.apiVersion);
  if (before === undefined) return merged;
  const owned = withNamedFields(fields, before.type);
  const restored = withOwned({ kind, merged: before, pruned: withRemoved(before, owned), table });
  const rest = converted(kind, restored, last.apiVersion);
  if (rest === undefined) return merged;
  // Of the missing fields, only those that the applier owned before may be removed.
  const missing = difference(namedFields(before), namedFields(rest));
  return converted(kind, withRemoved(before, intersection(missing, owned)), merged.object.apiVersion) ?? merged;
}

/** Keeps the identity of the object, which conversions need. */
function withRemoved({ object, type }: Versioned, fields: FieldSet): Versioned {
  const rest = (removeFields(object, fields, type) ?? {}) as Partial<ApiObject>;
  const { apiVersion, kind } = object;
  return { object: { ...rest, apiVersion, kind, metadata: rest.metadata ?? {} }, type };
}

interface Restoring {
  readonly kind: KindVersions;
  readonly merged: Versioned;
  readonly pruned: Versioned;
  readonly table: ManagedTable;
}

/** Restores the fields that any manager owns, including the applier's new ones. */
function withOwned({ kind, merged, pruned, table }: Restoring): Versioned {
  let state = { merged, pruned };
  for (const [apiVersion, owned] of fieldsByVersion(table, merged.object.apiVersion)) {
    const whole = converted(kind, state.merged, apiVersion);
    const rest = converted(kind, state.pruned, apiVersion);
    if (whole === undefined || rest === undefined) continue;
    const kept = union(namedFields(rest), withNamedFields(owned, whole.type));
    state = { merged: whole, pruned: withRemoved(whole, difference(namedFields(whole), kept)) };
  }
  return state.pruned;
}

/** The version of the object itself comes first, because conversions may need the fields that are restored there. */
function fieldsByVersion(table: ManagedTable, first: string): Map<string, FieldSet> {
  const byVersion = new Map<string, FieldSet>();
  const entries = [...table.values()];
  const ordered = [
    ...entries.filter(({ apiVersion }) => apiVersion === first),
    ...entries.filter(({ apiVersion }) => apiVersion !== first),
  ];
  for (const { apiVersion, fields } of ordered) {
    byVersion.set(apiVersion, union(byVersion.get(apiVersion) ?? noFields, fields));
  }
  return byVersion;
}

const namedFields = ({ object, type }: Versioned): FieldSet => withNamedFields(fieldsOf(object, type), type);

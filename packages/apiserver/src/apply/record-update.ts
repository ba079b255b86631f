import { type ApiObject, isJsonObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { withBoundedUpdaters } from "./ancient-changes.ts";
import { typeProblems } from "./check-type.ts";
import type { Comparison } from "./compare.ts";
import { createdFields, unusual } from "./created-fields.ts";
import { difference, isEmptySet, noFields, union } from "./field-set.ts";
import {
  decodeManagedFields,
  encodeEntry,
  entryId,
  type ManagedFields,
  type ManagedTable,
  withEntry,
  withManagedFields,
} from "./managed-table.ts";
import { neverOwned, skippedBy } from "./never-owned.ts";
import { changesBetween, currentTable, removeLostFields } from "./ownership.ts";
import { quietEntries } from "./quiet-update.ts";
import { resetFields, type Versioned, versioned, withoutManagedFields, zeroLike } from "./versioned.ts";
import { newEntry, type Writer } from "./writer.ts";

export interface Update extends Writer {
  /** The stored object in the version of `next`; `undefined` for a create. */
  readonly live: ApiObject | undefined;
  /** The object that is about to be stored, with its defaults. */
  readonly next: ApiObject;
}

/**
 * Records a write other than an apply: the writer becomes the only owner of the fields that it added or changed. Returns
 * `next` with its `managedFields`. An object without `managedFields` gets none, and one that does not match its schema loses
 * them: neither is a reason to refuse a write.
 */
export function recordUpdate(update: Update, interner: Interner): ApiObject {
  const { live, next } = update;
  const created = createdEntries(update, interner);
  if (created !== undefined) return { ...next, metadata: { ...next.metadata, managedFields: created } };
  const states = readStates(update, interner);
  if (!states.divided) return withoutManagedFields(next);
  const quiet = quietEntries(update, states.changes);
  if (quiet !== undefined) return { ...next, metadata: { ...next.metadata, managedFields: quiet } };
  const table = tableForUpdate(update);
  const tracked = table.size > 0 || live === undefined;
  return withManagedFields(next, tracked ? tableAfter(update, table, states) : table);
}

/** The entries of a new object in the usual case; `undefined` if they must be computed by a comparison. */
function createdEntries(update: Update, interner: Interner): ManagedFields | undefined {
  const { kind, live, next, manager, subresource, now } = update;
  if (live !== undefined || (subresource ?? "") !== "" || next.metadata.managedFields !== undefined) return undefined;
  const { apiVersion } = next;
  const skip = skippedBy(resetFields(kind, apiVersion));
  if (skip === undefined) return undefined;
  const after = { object: next, type: kind.type(apiVersion) };
  const fields = createdFields(next, { type: after.type, before: zeroLike(kind, after).object, skip, interner });
  if (fields === unusual || Object.keys(fields).length === 0) return undefined;
  return [encodeEntry(newEntry({ manager, operation: "Update", apiVersion, subresource, time: now }), fields)];
}

/** A client can write `managedFields`: an empty list resets them, and invalid entries are ignored. */
function tableForUpdate({ live, next, subresource = "" }: Update): ManagedTable {
  const given: unknown = next.metadata.managedFields;
  if (subresource === "") {
    if (isReset(given)) return new Map();
    const decoded = decodeManagedFields(given);
    if ("table" in decoded && decoded.table.size > 0) return decoded.table;
  }
  const stored = decodeManagedFields(live?.metadata.managedFields);
  return "table" in stored ? stored.table : new Map();
}

function isReset(given: unknown): boolean {
  if (!Array.isArray(given)) return false;
  const [first] = given as readonly unknown[];
  return given.length === 0 || (given.length === 1 && isJsonObject(first) && Object.keys(first).length === 0);
}

interface States {
  readonly before: Versioned;
  readonly after: Versioned;
  readonly changes: Comparison;
}

/** `divided`: whether the new object matches its schema. */
function readStates(
  { kind, live, next }: Update,
  interner?: Interner,
): (States & { readonly divided: true }) | { readonly divided: false } {
  const after = versioned(kind, next);
  const before = live === undefined ? zeroLike(kind, after) : versioned(kind, live);
  if (typeProblems(after.object, after.type, { allowDuplicates: true, interner }).length > 0) return { divided: false };
  return { before, after, changes: changesBetween(kind, before, after), divided: true };
}

/** The table after an update. */
export function updatedTable(update: Update, table: ManagedTable): ManagedTable {
  const states = readStates(update);
  return states.divided ? tableAfter(update, table, states) : new Map();
}

function tableAfter(update: Update, table: ManagedTable, { before, after, changes }: States): ManagedTable {
  const { kind, next, manager, subresource, now } = update;
  const current = currentTable(kind, table, before);
  const { table: rest } = removeLostFields({ kind, before, after, table: current, changes });
  const fields = difference(union(changes.modified, changes.added), neverOwned);
  if (isEmptySet(fields)) return withBoundedUpdaters(rest);
  const entry = newEntry({ manager, operation: "Update", apiVersion: next.apiVersion, subresource, time: now });
  const owned = rest.get(entryId(entry))?.fields ?? noFields;
  return withBoundedUpdaters(withEntry(rest, { ...entry, fields: union(owned, fields) }));
}

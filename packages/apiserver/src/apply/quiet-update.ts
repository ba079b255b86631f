import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Comparison } from "./compare.ts";
import { difference, type FieldSet, isEmptySet } from "./field-set.ts";
import { compareManaged, entryId, type ManagedEntry } from "./managed-table.ts";
import { neverOwned } from "./never-owned.ts";
import type { Update } from "./record-update.ts";
import { newEntry } from "./writer.ts";

type Entries = NonNullable<ApiObject["metadata"]["managedFields"]>;

/**
 * The entries after an update that only changes values which its writer alone owns, as most updates do: nothing moves but
 * a time. `undefined` when it may be any other update. The entries are looked at as they are stored, since reading them
 * into sets and writing them again costs more than all else that is done for an update.
 */
export function quietEntries(update: Update, { added, modified, removed }: Comparison): Entries | undefined {
  const entries = update.live?.metadata.managedFields;
  if (entries === undefined || entries.length === 0 || !isEmptySet(added) || !isEmptySet(removed)) return undefined;
  if (!keepsEntries(update, entries)) return undefined;
  const { apiVersion } = update.next;
  if (!entries.every((entry) => entry.apiVersion === apiVersion && isJsonObject(entry.fieldsV1))) return undefined;
  const fields = difference(modified, neverOwned);
  if (isEmptySet(fields)) return entries;
  const { manager, subresource, now } = update;
  const id = entryId(newEntry({ manager, operation: "Update", apiVersion, subresource, time: now }));
  const own = entries.findIndex((entry) => entryId(nameOf(entry)) === id);
  const quiet = entries.every(({ fieldsV1 }, at) =>
    at === own ? hasAll(fieldsV1 as JsonObject, fields) : !hasAny(fieldsV1 as JsonObject, fields),
  );
  if (own < 0 || !quiet) return undefined;
  return entries
    .map((entry, at) => (at === own ? { ...entry, time: now } : entry))
    .sort((left, right) => compareManaged(nameOf(left), nameOf(right)));
}

/** Whether the writer leaves the entries as they are, if it may write them at all. */
function keepsEntries({ next, subresource = "" }: Update, entries: Entries): boolean {
  const given: unknown = next.metadata.managedFields;
  return subresource !== "" || given === undefined || given === null || equalJson(given, entries);
}

function nameOf({
  manager = "",
  operation,
  apiVersion = "",
  subresource = "",
  time,
}: Entries[number]): Omit<ManagedEntry, "fields"> {
  return { manager, operation: operation === "Apply" ? operation : "Update", apiVersion, subresource, time };
}

/** Whether stored fields have every member of a set. */
function hasAll(stored: JsonObject, set: FieldSet): boolean {
  for (const [id, { member, children }] of set.nodes) {
    const inner = Object.hasOwn(stored, id) ? stored[id] : undefined;
    if (!isJsonObject(inner)) return false;
    if (member && !Object.hasOwn(inner, ".") && Object.keys(inner).length > 0) return false;
    if (!hasAll(inner, children)) return false;
  }
  return true;
}

/** Whether stored fields have a member of a set, or anything inside one. */
function hasAny(stored: JsonObject, set: FieldSet): boolean {
  for (const [id, { member, children }] of set.nodes) {
    const inner = Object.hasOwn(stored, id) ? stored[id] : undefined;
    if (inner !== undefined && (member || !isJsonObject(inner) || hasAny(inner, children))) return true;
  }
  return false;
}

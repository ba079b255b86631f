import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { maxUpdaters } from "./ancient-changes.ts";
import type { Comparison } from "./compare.ts";
import { editFields } from "./edit-fields.ts";
import { difference, type FieldSet, isEmptySet, union } from "./field-set.ts";
import { compareManaged, encodeEntry, entryId, type ManagedEntry } from "./managed-table.ts";
import { neverOwned } from "./never-owned.ts";
import type { Update } from "./record-update.ts";
import { newEntry } from "./writer.ts";

type Entries = NonNullable<ApiObject["metadata"]["managedFields"]>;

/**
 * The entries after an update that changes no field of another manager, as most updates do: only the writer's entry changes.
 * Returns `undefined` for other updates. Reads the other entries in their stored form, because decoding them into sets and
 * encoding them again costs more than the rest of an update.
 */
export function quietEntries(update: Update, { added, modified, removed }: Comparison): Entries | undefined {
  const entries = update.live?.metadata.managedFields;
  if (entries === undefined || entries.length === 0 || !keepsEntries(update, entries)) return undefined;
  const { apiVersion } = update.next;
  if (!entries.every((entry) => entry.apiVersion === apiVersion && isJsonObject(entry.fieldsV1))) return undefined;
  const written = difference(union(modified, added), neverOwned);
  const gone = difference(removed, neverOwned);
  if (isEmptySet(written) && isEmptySet(gone)) return entries;
  const { manager, subresource, now } = update;
  const name = newEntry({ manager, operation: "Update", apiVersion, subresource, time: now });
  const id = entryId(name);
  const own = entries.findIndex((entry) => entryId(nameOf(entry)) === id);
  const touched = union(written, gone);
  if (entries.some(({ fieldsV1 }, at) => at !== own && hasAny(fieldsV1 as JsonObject, touched))) return undefined;
  const entry = ownEntry(name, entries[own], { written, gone });
  if (entry === undefined || (own < 0 && updatersOf(entries) >= maxUpdaters)) return undefined;
  return [...entries.filter((_, at) => at !== own), entry].sort((left, right) =>
    compareManaged(nameOf(left), nameOf(right)),
  );
}

const updatersOf = (entries: Entries): number => entries.filter(({ operation }) => operation === "Update").length;

/** The writer's entry after the update; `undefined` if it would be empty or cannot be decoded. */
function ownEntry(
  name: ManagedEntry,
  entry: Entries[number] | undefined,
  { written, gone }: { readonly written: FieldSet; readonly gone: FieldSet },
): Entries[number] | undefined {
  const stored = (entry?.fieldsV1 ?? {}) as JsonObject;
  // An update that only removes fields keeps the time of the entry.
  const { time = name.time } = isEmptySet(written) ? (entry ?? {}) : {};
  if (entry !== undefined && !hasAny(stored, gone) && hasAll(stored, written)) {
    return time === undefined ? entry : { ...entry, time };
  }
  const fields = editFields(stored, { add: written, remove: gone });
  return fields === undefined ? undefined : encodeEntry({ ...name, time }, fields);
}

/** Whether the update does not change `managedFields` itself. Writes to subresources cannot. */
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

/** Whether stored fields contain every member of a set. */
function hasAll(stored: JsonObject, set: FieldSet): boolean {
  for (const [id, { member, children }] of set.nodes) {
    const inner = Object.hasOwn(stored, id) ? stored[id] : undefined;
    if (!isJsonObject(inner)) return false;
    if (member && !Object.hasOwn(inner, ".") && Object.keys(inner).length > 0) return false;
    if (!hasAll(inner, children)) return false;
  }
  return true;
}

/** Whether stored fields contain a member of a set, or a field inside one. */
function hasAny(stored: JsonObject, set: FieldSet): boolean {
  for (const [id, { member, children }] of set.nodes) {
    const inner = Object.hasOwn(stored, id) ? stored[id] : undefined;
    if (inner !== undefined && (member || !isJsonObject(inner) || hasAny(inner, children))) return true;
  }
  return false;
}

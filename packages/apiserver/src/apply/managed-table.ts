import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { decodeFields, encodeFields, type FieldsV1 } from "./fields-v1.ts";
import { withoutManagedFields } from "./versioned.ts";

export type Operation = "Apply" | "Update";

/** The fields that one manager owns. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339, in seconds. Absent for an entry that never changed the object. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** The entries of `managedFields`, by `entryId`. */
export type ManagedTable = ReadonlyMap<string, ManagedEntry>;

type EntryName = Pick<ManagedEntry, "manager" | "operation" | "apiVersion" | "subresource">;

/** An applier has one entry for all versions, an updater has one for each version. */
export function entryId({ manager, operation, apiVersion, subresource }: EntryName): string {
  return JSON.stringify({
    ...(manager === "" ? {} : { manager }),
    operation,
    ...(operation === "Apply" ? {} : { apiVersion }),
    ...(subresource === "" ? {} : { subresource }),
  });
}

export type DecodedTable = { readonly table: ManagedTable } | { readonly problem: string };

/** Decodes `metadata.managedFields`, which a client may have written. */
export function decodeManagedFields(entries: unknown): DecodedTable {
  if (entries === undefined || entries === null) return { table: new Map() };
  if (!Array.isArray(entries)) return { problem: "managedFields must be a list" };
  const table = new Map<string, ManagedEntry>();
  for (const [at, given] of entries.entries()) {
    const decoded = decodeEntry(given, at);
    if ("problem" in decoded) return decoded;
    table.set(entryId(decoded), decoded);
  }
  return { table };
}

function decodeEntry(given: unknown, at: number): ManagedEntry | { readonly problem: string } {
  if (!isJsonObject(given)) return { problem: `managed fields entry ${at} is not an object` };
  const { operation, apiVersion, fieldsType, fieldsV1, time } = given;
  if (operation !== "Apply" && operation !== "Update") return { problem: "operation must be `Apply` or `Update`" };
  if (typeof apiVersion !== "string" || apiVersion === "") return { problem: "apiVersion must not be empty" };
  if (fieldsType === undefined || fieldsType === "") {
    return { problem: `missing fieldsType in managed fields entry ${at}` };
  }
  if (fieldsType !== "FieldsV1") {
    return { problem: `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${at}` };
  }
  const decoded = decodeFields(fieldsV1 ?? {});
  if ("problem" in decoded) return { problem: `error decoding set: ${decoded.problem}` };
  return {
    manager: textOf(given, "manager"),
    operation,
    apiVersion,
    subresource: textOf(given, "subresource"),
    time: typeof time === "string" ? time : undefined,
    fields: decoded.set,
  };
}

function textOf(entry: JsonObject, name: string): string {
  const value = entry[name];
  return typeof value === "string" ? value : "";
}

/** The object with the table as its `managedFields`, or without that field if the table is empty. */
export function withManagedFields(object: ApiObject, table: ManagedTable): ApiObject {
  const bare = withoutManagedFields(object);
  if (table.size === 0) return bare;
  const managedFields = [...table.values()]
    .sort(compareManaged)
    .map((entry) => encodeEntry(entry, encodeFields(entry.fields)));
  return { ...bare, metadata: { ...bare.metadata, managedFields } };
}

/** `metadata.managedFields` as it is stored. */
export type ManagedFields = NonNullable<ApiObject["metadata"]["managedFields"]>;

export function encodeEntry(entry: Omit<ManagedEntry, "fields">, fields: FieldsV1): ManagedFields[number] {
  const { manager, operation, apiVersion, time, subresource } = entry;
  return {
    ...(manager === "" ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: fields,
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** Sorts appliers first, and then by time. */
export function compareManaged(left: Omit<ManagedEntry, "fields">, right: Omit<ManagedEntry, "fields">): number {
  return (
    compareNames(left.operation, right.operation) ||
    secondsOf(left.time) - secondsOf(right.time) ||
    compareNames(left.manager, right.manager) ||
    compareNames(left.apiVersion, right.apiVersion) ||
    compareNames(left.subresource, right.subresource)
  );
}

export const compareNames = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

/** 0 if the time is missing or invalid. */
export function secondsOf(time: string | undefined): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time);
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000);
}

/** The table with one entry replaced, or removed if it has no fields. */
export function withEntry(table: ManagedTable, entry: ManagedEntry): ManagedTable {
  const changed = new Map(table);
  if (isEmptySet(entry.fields)) changed.delete(entryId(entry));
  else changed.set(entryId(entry), entry);
  return changed;
}

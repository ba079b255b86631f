import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";

export type Cell = Column["cell"];

/** What kubectl shows where there is nothing. */
export const none = "<none>";

export const text = (name: string, cell: Cell, priority = 0): Column => ({ name, type: "string", priority, cell });

/** The text at a path, or `<none>`. */
export const at =
  (...path: string[]): Cell =>
  (object) =>
    stringAt(object, ...path) || none;

/** The text at a path, or nothing at all. */
export const orEmpty =
  (...path: string[]): Cell =>
  (object) =>
    stringAt(object, ...path) ?? "";

/** The cell, but for an object that is being deleted. */
export const terminatingOr =
  (cell: Cell): Cell =>
  (object, nowMs) =>
    object.metadata.deletionTimestamp === undefined ? cell(object, nowMs) : "Terminating";

export const ageColumn: Column = text("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs));

/** Of the oldest kind of table, which shows no age. */
export const createdColumn: Column = {
  name: "Created At",
  type: "date",
  cell: ({ metadata }) => metadata.creationTimestamp ?? "",
};

export const joined = (values: unknown): string =>
  Array.isArray(values) && values.length > 0 ? values.map(String).join(",") : none;

export function pairs(map: unknown): string {
  return isJsonObject(map) ? joined(Object.entries(map).map(([key, value]) => `${key}=${String(value)}`)) : none;
}

export const keysOf = (object: ApiObject, field: string): number => Object.keys(object[field] ?? {}).length;

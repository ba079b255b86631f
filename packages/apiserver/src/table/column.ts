import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";

export type Cell = Column["cell"];

/** The cell of a missing value. */
export const none = "<none>";

export const text = (name: string, cell: Cell, priority = 0): Column => ({ name, type: "string", priority, cell });

/** The string at a path, or `<none>`. */
export const at =
  (...path: string[]): Cell =>
  (object) =>
    stringAt(object, ...path) || none;

/** The string at a path, or an empty cell. */
export const orEmpty =
  (...path: string[]): Cell =>
  (object) =>
    stringAt(object, ...path) ?? "";

/** The cell, or `Terminating` for an object that is being deleted. */
export const terminatingOr =
  (cell: Cell): Cell =>
  (object, nowMs) =>
    object.metadata.deletionTimestamp === undefined ? cell(object, nowMs) : "Terminating";

export const ageColumn: Column = text("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs));

/** For resources whose table has no age. */
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

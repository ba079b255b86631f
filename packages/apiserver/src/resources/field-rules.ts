import type { FieldError } from "../api-error.ts";
import { type JsonObject, stringAt } from "../api-object.ts";
import { invalidValue, notSupported, required } from "./field-problems.ts";
import { labelProblems, portNameProblems } from "./names.ts";

// Rules for single fields that several kinds use. The schema has checked the types before.

/** A required string with a fixed set of values. `order` is their order in error messages of kube-apiserver. */
export function oneOf(owner: JsonObject, key: string, path: string, order: readonly string[]): FieldError[] {
  const value = owner[key] ?? "";
  const field = path === "" ? key : `${path}.${key}`;
  if (value === "") return [required(field)];
  return order.some((each) => each === value) ? [] : [notSupported(field, value, order)];
}

export function optionalOneOf(owner: JsonObject, key: string, path: string, order: readonly string[]): FieldError[] {
  return (owner[key] ?? "") === "" ? [] : oneOf(owner, key, path, order);
}

export function requiredText(owner: JsonObject, key: string, path: string): FieldError[] {
  return (owner[key] ?? "") === "" ? [required(`${path}.${key}`)] : [];
}

export function labelField(owner: JsonObject, key: string, path: string): FieldError[] {
  const value = stringAt(owner, key) ?? "";
  const field = path === "" ? key : `${path}.${key}`;
  if (value === "") return [required(field)];
  return labelProblems(value).map((problem) => invalidValue(field, value, problem));
}

const maxPort = 65_535;

export function portProblems(field: string, port: unknown): FieldError[] {
  if (typeof port === "number" && port >= 1 && port <= maxPort) return [];
  return [invalidValue(field, port, "must be between 1 and 65535, inclusive")];
}

export function portOrNameProblems(field: string, port: unknown): FieldError[] {
  if (typeof port !== "string") return portProblems(field, port ?? 0);
  return portNameProblems(port).map((problem) => invalidValue(field, port, problem));
}

export function notNegative(owner: JsonObject, key: string, path: string): FieldError[] {
  const value = owner[key];
  if (value === undefined || (typeof value === "number" && value >= 0)) return [];
  return [invalidValue(`${path}.${key}`, value, "must be greater than or equal to 0")];
}

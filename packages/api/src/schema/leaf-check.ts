import type { FieldError } from "./field-error.ts";
import { isObject } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateSchema } from "./validate-schema.ts";
import { validateLeaf } from "./validate-value.ts";

/** Keywords that do not limit a value itself. */
const freeKeys = new Set([
  "type",
  "properties",
  "additionalProperties",
  "items",
  "required",
  "default",
  "description",
  "nullable",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-validations",
]);

const composed = ["allOf", "anyOf", "oneOf", "not"] as const;

/** Returns a check of a value against the schema, without its members or items. Common schemas get a quick one. */
export function leafCheck(schema: StructuralSchema): (value: Json) => boolean {
  if (composed.some((key) => schema[key] !== undefined)) {
    return (value) => validateSchema(schema, { value, path: "" }).length === 0;
  }
  const { type, format } = schema;
  if (Object.keys(schema).every((key) => freeKeys.has(key))) {
    const check = plainChecks[type ?? ""];
    if (check !== undefined) return check;
  }
  const check = type === "integer" && isBounded(schema) ? integerChecks[format ?? ""] : undefined;
  if (check !== undefined) return check;
  return (value) => isPermitted(schema, value);
}

/** Whether the schema allows a value, without its members or items. */
export function isPermitted(schema: StructuralSchema, value: Json): boolean {
  const errors: FieldError[] = [];
  validateLeaf(schema, value, "", errors);
  return errors.length === 0;
}

/** Whether the format is the only bound of a number. */
const isBounded = (schema: StructuralSchema): boolean =>
  Object.keys(schema).every((key) => key === "format" || freeKeys.has(key));

/** Integers beyond the safe range are refused here. */
const integerChecks: { readonly [format: string]: ((value: Json) => boolean) | undefined } = {
  int32: (value) => value === ((value as number) | 0),
  int64: (value) => Number.isSafeInteger(value),
};

const plainChecks: { readonly [type: string]: ((value: Json) => boolean) | undefined } = {
  "": () => true,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === "number",
  object: isObject,
  array: (value) => Array.isArray(value),
};

import { type FieldError, invalid, notSupported, tooLong, tooMany, typeInvalid } from "./field-error.ts";
import { isOfFormat } from "./formats.ts";
import { isObject, jsonEqual } from "./json-value.ts";
import { isPattern, matchesPattern } from "./pattern.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** Checks that need nothing but the value itself: its type, format, bounds and listed values. Wording as in Kubernetes. */
export function validateLeaf(schema: StructuralSchema, value: Json, path: string): FieldError[] {
  return [
    ...typeErrors(schema, value, path),
    ...(typeof value === "string" ? stringErrors(schema, value, path) : []),
    ...(typeof value === "number" ? numberErrors(schema, value, path) : []),
    ...(Array.isArray(value) ? listErrors(schema, value, path) : []),
    ...(isObject(value) ? objectErrors(schema, value, path) : []),
    ...enumErrors(schema, value, path),
  ];
}

function typeErrors(schema: StructuralSchema, value: Json, path: string): FieldError[] {
  const wanted = schema["x-kubernetes-int-or-string"] ? ["integer", "string"] : schema.type ? [schema.type] : [];
  const actual = typeName(value);
  if (wanted.length === 0 || wanted.includes(actual) || (actual === "integer" && wanted.includes("number"))) return [];
  if (value === null && schema.nullable) return [];
  return [typeInvalid(path, actual, `${path} in body must be of type ${wanted.join(",")}: ${JSON.stringify(actual)}`)];
}

function typeName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return isInteger(value) ? "integer" : "number";
  return typeof value;
}

function isInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 63;
}

function stringErrors(schema: StructuralSchema, value: string, path: string): FieldError[] {
  const { maxLength, minLength, pattern, format } = schema;
  const formatted =
    format !== undefined && (schema.type ?? "string") === "string" && !isOfFormat(format, value)
      ? [typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`)]
      : [];
  // The first of these that fails is reported alone: a string that is too long is not also shown not to match.
  if (maxLength !== undefined && characters(value, maxLength) > maxLength)
    return [tooLong(path, maxLength), ...formatted];
  if (minLength !== undefined && characters(value, minLength) < minLength) {
    return [invalid(path, value, `${path} in body should be at least ${minLength} chars long`), ...formatted];
  }
  if (pattern !== undefined && !matchesPattern(pattern, value)) {
    const reason = isPattern(pattern) ? "" : ", but pattern is invalid: RE2 cannot compile it";
    return [invalid(path, value, `${path} in body should match '${pattern}${reason}'`), ...formatted];
  }
  return formatted;
}

/** Unicode characters, counted only if their number could lie on the other side of the limit from that of UTF-16 units. */
function characters(value: string, limit: number): number {
  return value.length < limit || value.length > 2 * limit ? value.length : Array.from(value).length;
}

function numberErrors(schema: StructuralSchema, value: number, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { format, type, minimum, maximum, multipleOf } = schema;
  const say = (detail: string): unknown => errors.push(invalid(path, value, `${path} in body should be ${detail}`));
  if (type === "integer" && format === "int32" && isInteger(value) && value !== (value | 0)) {
    errors.push(invalid(path, "", `Checked value must be of type integer with format int32 in ${path}`));
  }
  if (type === "number" && format === "float" && !Number.isFinite(Math.fround(value))) {
    errors.push(invalid(path, "", `Checked value must be of type number with format float in ${path}`));
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) say(`a multiple of ${multipleOf}`);
  if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum)) {
    say(`greater than ${schema.exclusiveMinimum ? "" : "or equal to "}${minimum}`);
  }
  if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum)) {
    say(`less than ${schema.exclusiveMaximum ? "" : "or equal to "}${maximum}`);
  }
  return errors;
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function listErrors(schema: StructuralSchema, list: readonly Json[], path: string): FieldError[] {
  const { minItems, maxItems } = schema;
  const errors: FieldError[] = [];
  if (minItems !== undefined && list.length < minItems) {
    errors.push(invalid(path, list.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && list.length > maxItems) errors.push(tooMany(path, list.length, maxItems));
  return errors;
}

function objectErrors(schema: StructuralSchema, object: { [key: string]: Json }, path: string): FieldError[] {
  const { minProperties, maxProperties } = schema;
  const count = Object.keys(object).length;
  const errors: FieldError[] = [];
  if (minProperties !== undefined && count < minProperties) {
    errors.push(invalid(path, count, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && count > maxProperties) errors.push(tooMany(path, count, maxProperties));
  return errors;
}

function enumErrors(schema: StructuralSchema, value: Json, path: string): FieldError[] {
  const allowed = schema.enum;
  if (allowed === undefined || allowed.length === 0 || allowed.some((option) => jsonEqual(option, value))) return [];
  return [notSupported(path, value, allowed)];
}

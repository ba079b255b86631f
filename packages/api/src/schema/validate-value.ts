import { type FieldError, invalid, notSupported, tooLong, tooMany, typeInvalid } from "./field-error.ts";
import { isOfFormat } from "./formats.ts";
import { isObject, type JsonObject, jsonEqual } from "./json-value.ts";
import { isPattern, matchesPattern } from "./pattern.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** Checks a value without its members: type, format, bounds and enum. The messages are those of Kubernetes. */
export function validateLeaf(schema: StructuralSchema, value: Json, path: string, errors: FieldError[]): void {
  checkType(schema, value, path, errors);
  if (typeof value === "string") checkString(schema, value, path, errors);
  else if (typeof value === "number") checkNumber(schema, value, path, errors);
  else if (Array.isArray(value)) checkLength(schema, value, path, errors);
  else if (isObject(value)) checkSize(schema, value, path, errors);
  checkEnum(schema, value, path, errors);
}

const intOrString = ["integer", "string"];

/**
 * Unlike Kubernetes, the type is always checked first. Kubernetes has another message for a wrong type if there is also a format,
 * and accepts a list for a string with a format.
 */
function checkType(schema: StructuralSchema, value: Json, path: string, errors: FieldError[]): void {
  const wanted = schema["x-kubernetes-int-or-string"] ? intOrString : schema.type;
  if (wanted === undefined || wanted === "") return;
  const actual = typeName(value);
  if (wanted === actual || (Array.isArray(wanted) && wanted.includes(actual))) return;
  if ((actual === "integer" && wanted === "number") || (value === null && schema.nullable)) return;
  errors.push(typeInvalid(path, actual, `${path} in body must be of type ${String(wanted)}: "${actual}"`));
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

function checkString(schema: StructuralSchema, value: string, path: string, errors: FieldError[]): void {
  const { maxLength, minLength, pattern, format } = schema;
  if (format !== undefined && (schema.type ?? "string") === "string" && !isOfFormat(format, value)) {
    errors.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
  }
  // Only the first failed check is reported: a string that is too long is not matched against the pattern.
  if (maxLength !== undefined && characters(value, maxLength) > maxLength) {
    errors.push(tooLong(path, maxLength));
  } else if (minLength !== undefined && characters(value, minLength) < minLength) {
    errors.push(invalid(path, value, `${path} in body should be at least ${minLength} chars long`));
  } else if (pattern !== undefined && !matchesPattern(pattern, value)) {
    const reason = isPattern(pattern) ? "" : ", but pattern is invalid: RE2 cannot compile it";
    errors.push(invalid(path, value, `${path} in body should match '${pattern}${reason}'`));
  }
}

/** The number of code points. Counted only if it could differ from the number of UTF-16 units with respect to the limit. */
function characters(value: string, limit: number): number {
  return value.length < limit || value.length > 2 * limit ? value.length : Array.from(value).length;
}

function checkNumber(schema: StructuralSchema, value: number, path: string, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema;
  if (isOutOfRange(schema, value)) {
    errors.push(
      invalid(path, "", `Checked value must be of type ${schema.type} with format ${schema.format} in ${path}`),
    );
  }
  const say = (detail: string): unknown => errors.push(invalid(path, value, `${path} in body should be ${detail}`));
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) say(`a multiple of ${multipleOf}`);
  if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum)) {
    say(`greater than ${schema.exclusiveMinimum ? "" : "or equal to "}${minimum}`);
  }
  if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum)) {
    say(`less than ${schema.exclusiveMaximum ? "" : "or equal to "}${maximum}`);
  }
}

function isOutOfRange({ type, format }: StructuralSchema, value: number): boolean {
  if (type === "integer" && format === "int32") return isInteger(value) && value !== (value | 0);
  return type === "number" && format === "float" && !Number.isFinite(Math.fround(value));
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function checkLength(schema: StructuralSchema, list: readonly Json[], path: string, errors: FieldError[]): void {
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && list.length < minItems) {
    errors.push(invalid(path, list.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && list.length > maxItems) errors.push(tooMany(path, list.length, maxItems));
}

function checkSize(schema: StructuralSchema, object: JsonObject, path: string, errors: FieldError[]): void {
  const { minProperties, maxProperties } = schema;
  if (minProperties === undefined && maxProperties === undefined) return;
  const count = Object.keys(object).length;
  if (minProperties !== undefined && count < minProperties) {
    errors.push(invalid(path, count, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && count > maxProperties) errors.push(tooMany(path, count, maxProperties));
}

function checkEnum(schema: StructuralSchema, value: Json, path: string, errors: FieldError[]): void {
  const allowed = schema.enum;
  if (allowed === undefined || allowed.length === 0 || allowed.some((option) => jsonEqual(option, value))) return;
  errors.push(notSupported(path, value, allowed));
}

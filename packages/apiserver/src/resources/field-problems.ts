import type { FieldError } from "../api-error.ts";

// Field errors in the words of kube-apiserver.

export function invalidValue(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown(value)}: ${why}` };
}

export function typeError(field: string, value: unknown, wanted: string): FieldError {
  const found = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return {
    field,
    reason: "FieldValueTypeInvalid",
    message: `Invalid value: "${found}": ${field} must be of type ${wanted}: "${found}"`,
  };
}

export function required(field: string, why = ""): FieldError {
  return { field, reason: "FieldValueRequired", message: why === "" ? "Required value" : `Required value: ${why}` };
}

export function forbidden(field: string, why: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${why}` };
}

export function duplicate(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const choices = supported.map((each) => JSON.stringify(each)).join(", ");
  const message = `Unsupported value: ${shown(value)}: supported values: ${choices}`;
  return { field, reason: "FieldValueNotSupported", message };
}

export function tooLong(field: string, bytes: number): FieldError {
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${bytes} bytes` };
}

export function tooMany(field: string, count: number, most: number): FieldError {
  const message = `Too many: ${count}: must have at most ${most} ${most === 1 ? "item" : "items"}`;
  return { field, reason: "FieldValueTooMany", message };
}

export function notFound(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueNotFound", message: `Not found: ${shown(value)}` };
}

export const immutable = (field: string, value: unknown): FieldError =>
  invalidValue(field, value, "field is immutable");

/** Longer values are cut, so that an error is not as large as the request. */
const longestShown = 1024;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}...`;
}

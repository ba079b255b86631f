import { canonicalJson } from "./json-value.ts";
import type { Json } from "./structural-schema.ts";

/** Kubernetes' reasons for an invalid field, as in the causes of a `Status`. */
export type FieldErrorReason =
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueRequired"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid";

/** An error of one field, in the form of a cause of a Kubernetes `Status`. */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** Such as `spec.podTemplate.spec.containers[0].name`; the object itself is `<nil>`. */
  readonly field: string;
  /** Kubernetes' wording, without the field. */
  readonly message: string;
}

/** Formats an error as kubectl shows it, such as `spec.replicas: Required value`. */
export function formatFieldError({ field, message }: FieldError): string {
  return `${field}: ${message}`;
}

const titles: { readonly [reason in FieldErrorReason]: string } = {
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueRequired: "Required value",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTypeInvalid: "Invalid value",
};

/** Leave `value` out for the reasons that never show one. */
export function fieldError(
  reason: FieldErrorReason,
  path: string,
  { value, detail }: { readonly value?: Json; readonly detail?: string } = {},
): FieldError {
  const shown = value === undefined ? "" : `: ${showValue(value)}`;
  return {
    reason,
    field: path === "" ? "<nil>" : path,
    message: titles[reason] + shown + (detail ? `: ${detail}` : ""),
  };
}

export function required(path: string, detail?: string): FieldError {
  return fieldError("FieldValueRequired", path, detail === undefined ? {} : { detail });
}

export function invalid(path: string, value: Json, detail: string): FieldError {
  return fieldError("FieldValueInvalid", path, { value, detail });
}

export function typeInvalid(path: string, value: string, detail: string): FieldError {
  return fieldError("FieldValueTypeInvalid", path, { value, detail });
}

export function duplicate(path: string, value: Json): FieldError {
  return fieldError("FieldValueDuplicate", path, { value });
}

export function notSupported(path: string, value: Json, supported: readonly Json[]): FieldError {
  const names = supported.map((name) => JSON.stringify(typeof name === "string" ? name : JSON.stringify(name)));
  return fieldError("FieldValueNotSupported", path, { value, detail: `supported values: ${names.join(", ")}` });
}

export function tooLong(path: string, limit: number): FieldError {
  return fieldError("FieldValueTooLong", path, {
    detail: `may not be more than ${limit} byte${limit === 1 ? "" : "s"}`,
  });
}

export function tooMany(path: string, count: number, limit: number): FieldError {
  const detail = `must have at most ${limit} item${limit === 1 ? "" : "s"}`;
  return fieldError("FieldValueTooMany", path, { value: count, detail });
}

// Long values are cut, so that an error is never larger than the object.
const longestShownValue = 1024;

function showValue(value: Json): string {
  const text = canonicalJson(value);
  return text.length <= longestShownValue ? text : `${text.slice(0, longestShownValue)}...`;
}

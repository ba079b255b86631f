import { formatTime, parseTime } from "@agent-sandbox/api";
import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject } from "../api-object.ts";
import type { BuiltinSchema, CanonicalForm } from "./builtin-schema.ts";
import { canonicalQuantity } from "./canonical-quantity.ts";
import { invalidValue } from "./field-problems.ts";

export interface Canonical<T> {
  readonly value: T;
  readonly problems: readonly FieldError[];
}

/**
 * Writes quantities and times in their stored form and drops empty lists and maps, as Go does when it encodes an object.
 * Reports invalid quantities; the schema check reports all other wrong values. Does not change the argument; unchanged
 * parts are shared with the result.
 */
export function canonicalForm<T>(schema: BuiltinSchema, value: T): Canonical<T> {
  const problems: FieldError[] = [];
  return { value: walk(schema, value, "", problems) as T, problems };
}

function walk(schema: BuiltinSchema, value: unknown, path: string, problems: FieldError[]): unknown {
  const form = schema["x-stored-as"];
  if (form !== undefined) return leaf(form, value, path, problems);
  if (Array.isArray(value)) return list(schema, value, path, problems);
  return isJsonObject(value) ? object(schema, value, path, problems) : value;
}

function list(schema: BuiltinSchema, values: unknown[], path: string, problems: FieldError[]): unknown[] {
  const { items } = schema;
  if (items === undefined) return values;
  const result = values.map((item, at) => walk(items, item, `${path}[${at}]`, problems));
  return result.every((item, at) => item === values[at]) ? values : result;
}

function object(schema: BuiltinSchema, value: JsonObject, path: string, problems: FieldError[]): JsonObject {
  let result: Record<string, unknown> | undefined;
  for (const [key, child] of Object.entries(value)) {
    const property = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties?.[key] : undefined;
    const member = property ?? schema.additionalProperties;
    if (typeof member !== "object") continue;
    const where = property === undefined ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    const next = walk(member, child, where, problems);
    if (next === child && !isVoid(member, child)) continue;
    result ??= { ...value };
    if (isVoid(member, child)) delete result[key];
    else result[key] = next;
  }
  return result ?? value;
}

/** A function that writes a leaf in its stored form (`undefined` for an invalid value), for schemas that have such a form. */
export function canonicalLeaf(schema: BuiltinSchema): ((value: unknown) => unknown) | undefined {
  const form = schema["x-stored-as"];
  if (form === undefined) return undefined;
  return (value) => {
    const problems: FieldError[] = [];
    const written = leaf(form, value, "", problems);
    return problems.length === 0 ? written : undefined;
  };
}

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function leaf(form: CanonicalForm, value: unknown, path: string, problems: FieldError[]): unknown {
  if (form === "quantity") {
    if (value === null) return value;
    const quantity = canonicalQuantity(value);
    if (quantity === undefined) problems.push(invalidValue(path, value, quantityRule));
    return quantity ?? value;
  }
  if (typeof value !== "string") return value;
  const time = parseTime(value);
  if ("error" in time) return value;
  return form === "time" ? formatTime(time.epochMs) : microTime(time.epochNanos);
}

/** Computed with integers, because a double of milliseconds is not exact to the microsecond. */
function microTime(epochNanos: bigint): string {
  const micros = epochNanos / 1000n;
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const wholeMs = Number((micros - rest) / 1000n);
  return `${new Date(wholeMs).toISOString().slice(0, 23)}${String(rest).padStart(3, "0")}Z`;
}

function isVoid(schema: BuiltinSchema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === "array" && value.length === 0;
  return typeof schema.additionalProperties === "object" && isJsonObject(value) && Object.keys(value).length === 0;
}

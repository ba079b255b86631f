import { isObject, type JsonObject, ownValue } from "../json-value.ts";
import type { Json, StructuralSchema } from "../structural-schema.ts";
import { toDuration, toTimestamp } from "./library/conversions.ts";

/**
 * Converts a JSON value to CEL: whole numbers become integers, times and durations get their types, and names of fields are
 * escaped. Fields without a schema are not visible to rules. Of a resource's metadata, only type and name are visible.
 */
export function toCel(
  schema: StructuralSchema,
  value: Json,
  isResource: boolean = schema["x-kubernetes-embedded-resource"] === true,
): unknown {
  if (Array.isArray(value)) return value.map((item) => (schema.items ? toCel(schema.items, item) : untyped(item)));
  if (isObject(value)) return { ...celObject(schema, value), ...(isResource ? resourceFields(value) : {}) };
  if (typeof value === "number") return celNumber(schema, value);
  return typeof value === "string" ? celString(schema, value) : value;
}

function celObject(schema: StructuralSchema, object: JsonObject): object {
  const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, child] of Object.entries(object)) {
    const property = ownValue(schema.properties, key);
    const additional = schema.additionalProperties;
    const name = property && escapeName(key);
    if (property !== undefined) {
      if (name !== undefined) result[name] = toCel(property, child);
    } else if (typeof additional === "object") result[key] = toCel(additional, child);
  }
  return result;
}

function resourceFields({ apiVersion, kind, metadata }: JsonObject): object {
  const { name, generateName } = isObject(metadata) ? metadata : {};
  return {
    ...present({ apiVersion, kind }),
    metadata: present({ name, generateName }),
  };
}

function present(fields: { readonly [key: string]: Json | undefined }): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function celNumber(schema: StructuralSchema, value: number): bigint | number {
  return schema.type !== "number" && Number.isInteger(value) ? BigInt(value) : value;
}

/** A string that does not match its format is kept as a string. It occurs only in stored objects, and rules that read it fail. */
function celString(schema: StructuralSchema, value: string): unknown {
  const convert = schema.format === undefined ? undefined : conversions[schema.format];
  if (convert === undefined) return value;
  try {
    return convert(value);
  } catch {
    return value;
  }
}

const conversions: { readonly [format: string]: ((text: string) => unknown) | undefined } = {
  byte: (text) => Buffer.from(text, "base64"),
  date: (text) => toTimestamp(`${text}T00:00:00Z`),
  "date-time": toTimestamp,
  duration: toDuration,
};

function untyped(value: Json): unknown {
  if (Array.isArray(value)) return value.map(untyped);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, untyped(child)]));
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

const keywords = new Set(
  "as break const continue else false for function if import in let loop namespace null package return true var void while".split(
    " ",
  ),
);

const plainName = /^[A-Za-z][A-Za-z0-9]*$/;

/** Escapes a property name that is not a CEL identifier, as Kubernetes does. Returns `undefined` if it cannot be escaped. */
export function escapeName(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  if (plainName.test(name)) return name;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}

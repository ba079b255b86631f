import { isObject, type JsonObject, ownValue, setOwn } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/**
 * Fills in the defaults of the schema, as the API server does on every read and write: for fields that are absent, and for
 * fields that are null but not nullable. A null that is not allowed and has no default is removed. Absent objects are not
 * created. The input is not changed; the result shares the parts without defaults.
 */
export function applyDefaults<T extends Json>(schema: StructuralSchema, value: T): T {
  return defaultValue(schema, value) as T;
}

function defaultValue(schema: StructuralSchema | undefined, value: Json): Json {
  if (schema === undefined) return value;
  if (Array.isArray(value)) return defaultList(schema, value);
  return isObject(value) ? defaultObject(schema, value) : value;
}

function defaultList(schema: StructuralSchema, list: Json[]): Json[] {
  const items = schema.items;
  if (items === undefined) return list;
  const filled = list.map((item) =>
    defaultValue(items, isForbiddenNull(items, item) ? copy(items.default ?? null) : item),
  );
  return filled.every((item, index) => item === list[index]) ? list : filled;
}

function defaultObject(schema: StructuralSchema, object: JsonObject): JsonObject {
  let filled: JsonObject | undefined;
  for (const { name, property, value } of defaultedProperties(schema)) {
    if (Object.hasOwn(object, name)) continue;
    filled ??= { ...object };
    setOwn(filled, name, defaultValue(property, copy(value)));
  }
  for (const [key, child] of Object.entries(object)) {
    const field = fieldSchema(schema, key);
    const forbidden = isForbiddenNull(field, child);
    const result = defaultValue(field, forbidden ? copy(field?.default ?? null) : child);
    if (result === child && !forbidden) continue;
    filled ??= { ...object };
    if (forbidden && result === null) delete filled[key];
    else setOwn(filled, key, result);
  }
  return filled ?? object;
}

/** Most defaults are scalars or empty objects, for which `structuredClone` is slow. */
function copy(value: Json): Json {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, copy(child)]));
}

interface DefaultedProperty {
  readonly name: string;
  readonly property: StructuralSchema;
  readonly value: Json;
}

// A PodSpec has about forty properties and few defaults, so the properties with defaults are searched once per schema.
const defaulted = new WeakMap<StructuralSchema, readonly DefaultedProperty[]>();

function defaultedProperties(schema: StructuralSchema): readonly DefaultedProperty[] {
  const known = defaulted.get(schema);
  if (known !== undefined) return known;
  const found = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    property.default === undefined ? [] : [{ name, property, value: property.default }],
  );
  defaulted.set(schema, found);
  return found;
}

function fieldSchema(schema: StructuralSchema, key: string): StructuralSchema | undefined {
  const additional = schema.additionalProperties;
  return ownValue(schema.properties, key) ?? (typeof additional === "object" ? additional : undefined);
}

function isForbiddenNull(schema: StructuralSchema | undefined, value: Json): boolean {
  return value === null && schema !== undefined && schema.nullable !== true;
}

import type { ObjectMeta } from "@agent-sandbox/api";

export interface JsonObject {
  readonly [key: string]: unknown;
}

/** An API object. All readers share a stored object, so never change one: build a new one. */
export interface ApiObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of an object; `undefined` if a part of the path is missing or not an object. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (!isJsonObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** The objects in the list at a path of an object. Omits other items of the list. */
export function objectsAt(value: unknown, ...path: readonly string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

export function withMetadata(object: ApiObject, change: Partial<ObjectMeta>): ApiObject {
  return { ...object, metadata: { ...object.metadata, ...change } };
}

/** The key of an object in the store: `namespace/name`, or `name` for a cluster-scoped object. */
export function storeKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

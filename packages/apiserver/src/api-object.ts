import type { ObjectMeta } from "@agent-sandbox/api";

export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Any object the server stores or answers with. Stored ones are shared by every reader: never change one, build a new one. */
export interface ApiObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a value deep inside an object; anything missing or of another shape on the way gives `undefined`. */
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

/** The objects in a list deep inside an object; whatever else the list holds is left out. */
export function objectsAt(value: unknown, ...path: readonly string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

export function withMetadata(object: ApiObject, change: Partial<ObjectMeta>): ApiObject {
  return { ...object, metadata: { ...object.metadata, ...change } };
}

/** `namespace/name`, or `name` when cluster-scoped: how the store names an object within its resource. */
export function storeKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

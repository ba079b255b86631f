import type { Json } from "./structural-schema.ts";

export type JsonObject = { [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads own properties only, so that a key such as `constructor` does not return an inherited value. */
export function ownValue<T>(object: { readonly [key: string]: T } | undefined, key: string): T | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own property. Assigning to `__proto__` would change the object's prototype instead. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

export function jsonEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]))
  );
}

/** JSON text that is the same for equal values, independent of the order of their keys. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_, child: Json) =>
    isObject(child) ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1))) : child,
  );
}

/** Does not descend below the limit, so that it can check values that would overflow the stack elsewhere. */
export function isDeeperThan(value: Json, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit < 0) return true;
  for (const child of Object.values(value)) {
    if (isDeeperThan(child, limit - 1)) return true;
  }
  return false;
}

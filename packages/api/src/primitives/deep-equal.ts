export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether the value is a JSON object: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object's own member of that name, never one inherited from the prototype. */
export function member(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Compares JSON values. The order of members does not matter, and a member that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  return (
    Object.keys(a).every((key) => deepEqual(a[key], member(b, key))) &&
    Object.keys(b).every((key) => b[key] === undefined || member(a, key) !== undefined)
  );
}

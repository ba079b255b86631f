import { isJsonObject, type JsonObject, member } from "./deep-equal.ts";
import { compareQuantities } from "./quantity.ts";
import { compareTimes } from "./time.ts";

/**
 * The fields that contain quantities and times, as the last names of their path; list indexes are left out. Each path has at
 * least two names, so that a label or annotation with such a key does not match: maps that users fill contain strings only.
 */
const quantityPaths = new Set([
  "resources.requests.*",
  "resources.limits.*",
  "spec.overhead.*",
  "spec.capacity.*",
  "status.capacity.*",
  "status.allocatable.*",
  "status.allocatedResources.*",
  "emptyDir.sizeLimit",
  "resourceFieldRef.divisor",
]);
const timePaths = new Set([
  "metadata.creationTimestamp",
  "metadata.deletionTimestamp",
  "managedFields.time",
  "conditions.lastTransitionTime",
  "conditions.lastProbeTime",
  "conditions.lastHeartbeatTime",
  "spec.shutdownTime",
  "lifecycle.shutdownTime",
  "spec.acquireTime",
  "spec.renewTime",
  "status.startTime",
  "status.lastActivityTime",
  "suspension.time",
  "running.startedAt",
  "terminated.startedAt",
  "terminated.finishedAt",
]);

/**
 * The maps and structs for which empty means the same as absent. For other objects the difference matters: `emptyDir: {}`
 * is a volume, and `namespaceSelector: {}` selects all namespaces, while an absent selector selects one.
 */
const sameWhenEmpty = new Set([
  "metadata",
  "status",
  "labels",
  "annotations",
  "matchLabels",
  "nodeSelector",
  "data",
  "binaryData",
  "stringData",
  "resources",
  "requests",
  "limits",
  "overhead",
  "capacity",
]);

/**
 * Whether two JSON values mean the same to Kubernetes: null, empty lists and empty maps equal absent ones, quantities and
 * times are compared by value, and everything else is compared exactly. To compare a part of an object, pass its path as
 * `at`, such as `["resources"]` or `["spec"]`. A map of strings needs no path.
 */
export function semanticEqual(a: unknown, b: unknown, at: readonly string[] = []): boolean {
  return same(a, b, [...at]);
}

function same(a: unknown, b: unknown, path: string[]): boolean {
  if (a === b) return true;
  if (isEmpty(a, path.at(-1)) && isEmpty(b, path.at(-1))) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameItem(item, b[index], path));
  }
  if (isJsonObject(a) && isJsonObject(b)) return sameMembers(a, b, path);
  return sameLeaf(a, b, path);
}

/** An empty item is not the same as an absent one: an empty NetworkPolicy rule allows all traffic. */
function sameItem(a: unknown, b: unknown, path: string[]): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return same(a, b, path);
  return isJsonObject(a) && isJsonObject(b) ? sameMembers(a, b, path) : a === b;
}

function sameMembers(a: JsonObject, b: JsonObject, path: string[]): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return keys.values().every((key) => {
    path.push(key);
    const equal = same(member(a, key), member(b, key), path);
    path.pop();
    return equal;
  });
}

function sameLeaf(a: unknown, b: unknown, path: readonly string[]): boolean {
  const meaning = meaningAt(path);
  if (meaning === "quantity") return isAmount(a) && isAmount(b) && compareQuantities(String(a), String(b)) === 0;
  if (meaning === "time") return typeof a === "string" && typeof b === "string" && compareTimes(a, b) === 0;
  return false;
}

/** What a string at this path is; undefined: just a string. */
export function meaningAt(path: readonly string[]): "quantity" | "time" | undefined {
  const [first, second, last] = [path.at(-3), path.at(-2), path.at(-1)];
  if (quantityPaths.has(`${second}.${last}`) || quantityPaths.has(`${first}.${second}.*`)) return "quantity";
  return timePaths.has(`${second}.${last}`) ? "time" : undefined;
}

/** In JSON a quantity may be a number. */
export function isAmount(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** Whether a value under this key means the same as an absent one. */
export function isEmpty(value: unknown, key: string | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isJsonObject(value) || (key !== undefined && !sameWhenEmpty.has(key))) return false;
  return Object.entries(value).every(([name, inner]) => isEmpty(inner, name));
}

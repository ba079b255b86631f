import { childPath, indexPath } from "./field-path.ts";
import { isObject, ownValue } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** A value in an object, with its path and its old value. */
export interface Spot {
  readonly value: Json;
  readonly path: string;
  /** Absent if there is no old object, or if no part of it corresponds to this value. */
  readonly old?: Json;
}

export function fieldSpot(spot: Spot, key: string, value: Json, path: string = childPath(spot.path, key)): Spot {
  const old = isObject(spot.old) ? ownValue(spot.old, key) : undefined;
  return old === undefined ? { value, path } : { value, path, old };
}

/** Only items of lists of type map have an old value: the one with the same keys. */
export function itemSpots(schema: StructuralSchema, spot: Spot, list: readonly Json[]): Spot[] {
  const earlier = earlierItems(schema, spot.old);
  return list.map((value, index) => {
    const path = indexPath(spot.path, index);
    const key = earlier && identity(schema, value);
    const old = key === undefined ? undefined : earlier?.get(key);
    return old === undefined ? { value, path } : { value, path, old };
  });
}

function earlierItems(schema: StructuralSchema, old: Json | undefined): Map<string, Json> | undefined {
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(old)) return undefined;
  const known = new Map<string, Json>();
  for (const item of old) {
    const key = identity(schema, item);
    if (key !== undefined) known.set(key, item);
  }
  return known;
}

/** The keys of an item of a map list as one string; undefined if one of them is missing. */
function identity(schema: StructuralSchema, item: Json): string | undefined {
  if (!isObject(item)) return undefined;
  const values = (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => ownValue(item, key));
  return values.includes(undefined) ? undefined : JSON.stringify(values);
}

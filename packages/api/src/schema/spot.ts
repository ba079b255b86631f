import { childPath, indexPath } from "./field-path.ts";
import { isObject, ownValue } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** A value in an object, with where it is and what it was before. */
export interface Spot {
  readonly value: Json;
  readonly path: string;
  /** Absent when there is no earlier object, or when no part of it can be told to be the same as this one. */
  readonly old?: Json;
}

export function fieldSpot(spot: Spot, key: string, value: Json, path: string = childPath(spot.path, key)): Spot {
  const old = isObject(spot.old) ? ownValue(spot.old, key) : undefined;
  return old === undefined ? { value, path } : { value, path, old };
}

/** Items have an earlier self only in lists of type map, where keys tell which it was. */
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

/** The keys of an item of a map list as one string; none if the item lacks one of them. */
function identity(schema: StructuralSchema, item: Json): string | undefined {
  if (!isObject(item)) return undefined;
  const values = (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => ownValue(item, key));
  return values.includes(undefined) ? undefined : JSON.stringify(values);
}

import type { ApiObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { withoutManagedFields } from "./versioned.ts";

/**
 * Gives an object its old `managedFields` back when nothing but their times would change, so that a write that changes
 * nothing is none. Call it on the object as it is about to be stored.
 */
export function withoutIdleTimes(next: ApiObject, old: ApiObject): ApiObject {
  const { managedFields } = old.metadata;
  if (managedFields === undefined || !equalJson(timeless(next), timeless(old))) return next;
  return { ...next, metadata: { ...next.metadata, managedFields } };
}

function timeless(object: ApiObject): unknown {
  const entries: readonly object[] = object.metadata.managedFields ?? [];
  return [withoutManagedFields(object), entries.map((entry) => ({ ...entry, time: null }))];
}

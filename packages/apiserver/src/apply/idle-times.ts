import type { ApiObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { withoutManagedFields } from "./versioned.ts";

/**
 * Restores the old `managedFields` of an object if only their times would change, so that such a write is not a change. Call
 * it on the object that is about to be stored.
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

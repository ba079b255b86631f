import type { ApiObject } from "../api-object.ts";
import type { ResourceDefinition } from "../resources/definition.ts";

/** Whether nothing holds an object that is marked for deletion any more. */
export function isGone(definition: ResourceDefinition, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0) return false;
  return definition.strategy.isHeld?.(object) !== true;
}

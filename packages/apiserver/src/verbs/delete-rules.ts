import type { ApiObject } from "../api-object.ts";
import type { ResourceDefinition } from "../resources/definition.ts";

/** Whether an object that is marked for deletion can be removed: no finalizers and no grace period are left. */
export function isGone(definition: ResourceDefinition, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0) return false;
  return definition.strategy.isHeld?.(object) !== true;
}

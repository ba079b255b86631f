import { findCondition } from "../primitives/condition.ts";
import type { Condition } from "../shapes/condition.ts";
import { isStateReason } from "../state/driver.ts";
import { blueprintChoices } from "../v1beta1/blueprint-defaults.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";

/**
 * The condition that refuses to suspend the Sandbox in the present generation, because the wanted depth cannot be reached and the
 * policy allows no lower one; undefined: the suspension is not refused. The Sandbox keeps running until its spec changes.
 */
export function suspensionRefusal({ metadata, spec, status }: Sandbox): Condition | undefined {
  if (!spec?.suspendPolicy || blueprintChoices(spec).suspendFallback !== "Refuse") return undefined;
  const suspended = findCondition(status?.conditions, "Suspended");
  const isRefusal = suspended?.status === "False" && isStateReason(suspended.reason);
  return isRefusal && suspended.observedGeneration === metadata.generation ? suspended : undefined;
}

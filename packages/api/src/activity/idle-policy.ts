import { extensionsGroup } from "../kinds.ts";
import { controllerOf, refersToKind } from "../primitives/owner-reference.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";

/** Whether the Sandbox is an unclaimed member of a warm pool. */
export function isPoolMember(sandbox: Sandbox): boolean {
  const controller = controllerOf(sandbox);
  return controller !== undefined && refersToKind(controller, { group: extensionsGroup, kind: "SandboxWarmPool" });
}

/** How long a Sandbox may be unused before it is suspended; undefined: it is never suspended for being idle. */
export function suspendAfterMs(sandbox: Sandbox): number | undefined {
  return limitMs(sandbox, "suspendAfterSeconds");
}

/** How long a Sandbox may be unused before it is deleted; undefined: it is never deleted for being idle. */
export function deleteAfterMs(sandbox: Sandbox): number | undefined {
  return limitMs(sandbox, "deleteAfterSeconds");
}

/** The shorter of the two limits; undefined: activity has no effect on this Sandbox. */
export function idleWindowMs(sandbox: Sandbox): number | undefined {
  const limits = [suspendAfterMs(sandbox), deleteAfterMs(sandbox)].filter((limit) => limit !== undefined);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** The members of a pool wait unused until they are claimed, so their idle policy applies only after that. */
function limitMs(sandbox: Sandbox, limit: "suspendAfterSeconds" | "deleteAfterSeconds"): number | undefined {
  const seconds = sandbox.spec?.idlePolicy?.[limit];
  return typeof seconds === "number" && !isPoolMember(sandbox) ? seconds * 1000 : undefined;
}

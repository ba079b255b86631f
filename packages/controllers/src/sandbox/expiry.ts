import {
  type Condition,
  findCondition,
  parseTime,
  removeCondition,
  type Sandbox,
  setCondition,
} from "@agent-sandbox/api";
import type { Action } from "./action.ts";
import type { Verdict } from "./decide.ts";
import type { Observed } from "./observed.ts";
import { removal } from "./pod-step.ts";
import { serviceStep } from "./service.ts";

/** When the Sandbox expires; undefined: never. */
export function shutdownAt({ spec }: Sandbox): number | undefined {
  const time = typeof spec?.shutdownTime === "string" ? parseTime(spec.shutdownTime) : undefined;
  return time === undefined || "error" in time ? undefined : time.epochMs;
}

/** Whether the shutdown time has passed by this machine's clock, and the status does not say so yet. */
export function seemsExpired(sandbox: Sandbox, now: number): boolean {
  const expiresAt = shutdownAt(sandbox);
  if (expiresAt === undefined || now < expiresAt) return false;
  return sandbox.metadata.deletionTimestamp === undefined && !isMarkedExpired(sandbox);
}

function isMarkedExpired({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.reason === "SandboxExpired";
}

/**
 * Ends an expired Sandbox. First the status says that it has expired; then its Pods and Service are deleted, and with the policy
 * Delete the Sandbox itself. Its volume claims exist as long as the Sandbox.
 */
export function expire(observed: Observed, now: number): Verdict {
  const { sandbox } = observed;
  const conditions = expiredConditions(sandbox, now);
  if (!isMarkedExpired(sandbox)) {
    return { actions: [], status: { ...sandbox.status, conditions }, requeueAt: now + 1 };
  }
  const children = childRemoval(observed);
  if (sandbox.spec.shutdownPolicy === "Delete") return { actions: [...children, { do: "delete-sandbox" }] };
  // Saved memory can be continued if the shutdown time is moved.
  const { suspension } = sandbox.status ?? {};
  const status = { ...(suspension && { suspension }), conditions };
  return { actions: children, status: observed.failures.length > 0 ? undefined : status };
}

function expiredConditions(sandbox: Sandbox, now: number) {
  const { generation } = sandbox.metadata;
  const aboutPod = ["PodScheduled", "PodOutdated"];
  const kept = aboutPod.reduce<Condition[]>(removeCondition, [...(sandbox.status?.conditions ?? [])]);
  const observedGeneration = generation === undefined ? {} : { observedGeneration: generation };
  const condition = {
    type: "Ready",
    status: "False",
    reason: "SandboxExpired",
    message: "Sandbox has expired",
  } as const;
  return setCondition(kept, { ...condition, ...observedGeneration }, now);
}

function childRemoval(observed: Observed): Action[] {
  const { sandbox, pods } = observed;
  const unwanted = { ...observed, sandbox: { ...sandbox, spec: { ...sandbox.spec, service: false } } };
  return [...removal(pods), ...serviceStep(unwanted).actions];
}

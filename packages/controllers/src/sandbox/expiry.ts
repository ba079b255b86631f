import { findCondition, parseTime, removeCondition, type Sandbox, setCondition } from "@agent-sandbox/api";
import type { Action } from "./action.ts";
import type { Decision } from "./decide.ts";
import type { Observed } from "./observed.ts";
import { removal } from "./pod-step.ts";
import { serviceStep } from "./service.ts";

/** When the Sandbox expires, by the clock of whoever asks; undefined: never. */
export function shutdownAt({ spec }: Sandbox): number | undefined {
  const time = typeof spec?.shutdownTime === "string" ? parseTime(spec.shutdownTime) : undefined;
  return time === undefined || "error" in time ? undefined : time.epochMs;
}

/**
 * A Sandbox whose time is up: first it says so, for all to see; then its Pods and Service go, and, if that is its policy,
 * the Sandbox itself. Its volume claims stay as long as it does.
 */
export function expire(seen: Observed, now: number): Decision {
  const { sandbox } = seen;
  const isMarked = findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired";
  const conditions = expiredConditions(sandbox, now);
  if (!isMarked) return { actions: [], status: { ...sandbox.status, conditions }, wakeAfterMs: 1 };
  const children = childRemoval(seen);
  if (sandbox.spec.shutdownPolicy === "Delete") {
    return { actions: [...children, { do: "delete-sandbox" }], status: undefined };
  }
  return { actions: children, status: seen.failures.length > 0 ? undefined : { conditions } };
}

function expiredConditions(sandbox: Sandbox, now: number) {
  const { generation } = sandbox.metadata;
  const kept = removeCondition(sandbox.status?.conditions, "PodScheduled");
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const verdict = { type: "Ready", status: "False", reason: "SandboxExpired", message: "Sandbox has expired" } as const;
  return setCondition(kept, { ...verdict, ...observed }, now);
}

function childRemoval(seen: Observed): Action[] {
  const { sandbox, pods } = seen;
  const unwanted = { ...seen, sandbox: { ...sandbox, spec: { ...sandbox.spec, service: false } } };
  return [...removal(pods), ...serviceStep(unwanted).actions];
}

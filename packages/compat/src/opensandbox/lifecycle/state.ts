import {
  findCondition,
  isConditionTrue,
  kindOfTrouble,
  type Sandbox,
  type SandboxClaim,
  sleepReason,
  troubleIn,
} from "@agent-sandbox/api";
import type { Machine } from "../../cluster/machine.ts";

export type State = "Pending" | "Running" | "Pausing" | "Paused" | "Resuming" | "Terminated" | "Failed";

export interface Status {
  readonly state: State;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionAt?: string;
}

/** The state of a sandbox in OpenSandbox's words. One that is being deleted is not shown at all. */
export function statusOf({ claim, sandbox }: Pick<Machine, "claim" | "sandbox">): Status {
  if (sandbox === undefined) return withCondition("Pending", claim, "Ready");
  const { conditions } = sandbox.status ?? {};
  if (isConditionTrue(conditions, "Finished")) return withCondition("Terminated", sandbox, "Finished");
  if (sleepReason(sandbox) !== undefined) {
    const state = isCurrent(sandbox, "Suspended") ? "Paused" : "Pausing";
    return withCondition(state, sandbox, "Suspended");
  }
  if (isCurrent(sandbox, "Ready")) return withCondition("Running", sandbox, "Ready");
  const ready = findCondition(conditions, "Ready");
  const trouble = troubleIn(ready?.message);
  const isFailed =
    ready?.reason === "InvalidConfiguration" || (trouble !== undefined && kindOfTrouble(trouble) !== "probe");
  if (isFailed) return withCondition("Failed", sandbox, "Ready");
  return withCondition(sandbox.status?.suspension === undefined ? "Pending" : "Resuming", sandbox, "Ready");
}

/** Whether the condition is true of the present spec. */
function isCurrent({ metadata, status }: Sandbox, type: string): boolean {
  const condition = findCondition(status?.conditions, type);
  return condition?.status === "True" && (condition.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

function withCondition(state: State, object: SandboxClaim | Sandbox | undefined, type: string): Status {
  const condition = findCondition(object?.status?.conditions, type);
  if (condition === undefined) return { state };
  const { reason, message, lastTransitionTime } = condition;
  return { state, reason, message, ...(lastTransitionTime !== "" && { lastTransitionAt: lastTransitionTime }) };
}

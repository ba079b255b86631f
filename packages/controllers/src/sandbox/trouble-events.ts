import { findCondition, type SandboxStatus, troubleIn } from "@agent-sandbox/api";
import type { EventRecord } from "@agent-sandbox/kube";

/** One event when the status begins to say what is wrong with the Pod, or that it is replaced. None while it says the same. */
export function troubleEvents(before: SandboxStatus | undefined, after: SandboxStatus): EventRecord[] {
  const [was, is] = [sentenceIn(before), sentenceIn(after)];
  if (is === undefined || is === was) return [];
  return [{ type: "Warning", reason: "PodNotReady", action: "Reconciling", text: is }];
}

function sentenceIn(status: SandboxStatus | undefined): string | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.reason === "PodReplacing") return ready.message;
  return ready?.reason === "DependenciesNotReady" ? troubleIn(ready.message) : undefined;
}

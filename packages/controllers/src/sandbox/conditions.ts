import {
  adaptCondition,
  adaptMessage,
  type Condition,
  type ConditionStatus,
  findCondition,
  isConditionTrue,
  type Pod,
  type Sandbox,
} from "@agent-sandbox/api";
import { ownsPod } from "./observe.ts";

/** A condition before it is merged into the status: the time is added there. */
export type Verdict = Omit<Condition, "lastTransitionTime">;

export interface Findings {
  readonly sandbox: Sandbox;
  readonly pod: Pod | undefined;
  /** What kept this pass from doing its work, for people. */
  readonly error: string | undefined;
}

export const isSuspended = (sandbox: Sandbox): boolean => sandbox.spec.operatingMode === "Suspended";

/** The conditions of a Sandbox that has not expired, in the order they are reported. */
export function verdicts(findings: Findings): Verdict[] {
  const generation = findings.sandbox.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const found = [suspended(findings), finished(findings), podScheduled(findings), ready(findings)];
  return found.filter((verdict) => verdict !== undefined).map((verdict) => ({ ...verdict, ...observed }));
}

function verdict(type: string, status: ConditionStatus, reason: string, message: string): Verdict {
  return { type, status, reason, message };
}

function suspended({ sandbox, pod }: Findings): Verdict {
  const say = (status: ConditionStatus, reason: string, message: string) =>
    verdict("Suspended", status, reason, message);
  if (!isSuspended(sandbox)) return say("False", "NotSuspended", "Sandbox is not suspended");
  if (pod === undefined) return say("True", "PodTerminated", "Pod has been terminated. Sandbox is suspended");
  if (ownsPod(sandbox, pod)) return say("False", "PodTerminating", "Pod is terminating. Sandbox is suspending");
  return say("False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox");
}

const terminal: Readonly<Record<string, readonly [reason: string, message: string]>> = {
  Succeeded: ["PodSucceeded", "Pod completed successfully"],
  Failed: ["PodFailed", "Pod failed"],
};

function ownedPod({ sandbox, pod }: Findings): Pod | undefined {
  return pod !== undefined && ownsPod(sandbox, pod) ? pod : undefined;
}

function finished(findings: Findings): Verdict | undefined {
  const end = terminal[ownedPod(findings)?.status?.phase ?? ""];
  return end && verdict("Finished", "True", ...end);
}

function podScheduled(findings: Findings): Verdict | undefined {
  const pod = ownedPod(findings);
  if (pod === undefined) return undefined;
  const condition = findCondition(pod.status?.conditions, "PodScheduled");
  if (condition === undefined) {
    const message = "Pod has not reported a PodScheduled condition yet";
    return verdict("PodScheduled", "Unknown", "PodSchedulingUnknown", message);
  }
  return adaptCondition(condition, condition.status === "True" ? "PodScheduled" : "PodSchedulingUnknown");
}

function ready(findings: Findings): Verdict {
  const { sandbox, pod, error } = findings;
  const notReady = (reason: string, message: string) => verdict("Ready", "False", reason, message);
  if (error !== undefined) return notReady("ReconcilerError", adaptMessage(`Error seen: ${error}`));
  if (isSuspended(sandbox)) {
    return notReady("SandboxSuspended", pod === undefined ? "Sandbox is suspended" : "Sandbox is suspending");
  }
  const end = terminal[pod?.status?.phase ?? ""];
  if (end) return notReady(...end);
  const { ok, message } = podReadiness(pod);
  return ok ? verdict("Ready", "True", "DependenciesReady", message) : notReady("DependenciesNotReady", message);
}

function podReadiness(pod: Pod | undefined): { ok: boolean; message: string } {
  if (pod === undefined) return { ok: false, message: "Pod does not exist" };
  const { phase, conditions, podIPs } = pod.status ?? {};
  if (phase !== "Running") return { ok: false, message: `Pod exists with phase: ${phase ?? ""}` };
  if (!isConditionTrue(conditions, "Ready")) return { ok: false, message: "Pod is Running but not Ready" };
  if (!podIPs?.length) return { ok: false, message: "Pod is Ready but has no podIPs yet" };
  return { ok: true, message: "Pod is Ready" };
}

import {
  adaptCondition,
  adaptMessage,
  type Condition,
  type ConditionStatus,
  findCondition,
  isBeingSaved,
  isConditionTrue,
  oneLine,
  type Pod,
  type PodTrouble,
  podTroubleOf,
  type Sandbox,
  type SleepReason,
  type SuspensionStatus,
  withTrouble,
} from "@agent-sandbox/api";
import type { Shortfall } from "./depth.ts";
import { type Failure, type FoundPod, isTerminating } from "./observed.ts";
import { isOutdated } from "./pod-outdated.ts";
import { describeFailure, recoveryOf } from "./recovery.ts";
import type { SuspensionStep } from "./suspension.ts";

/** A condition without its transition time, which is added when it is merged into the status. */
export type Verdict = Omit<Condition, "lastTransitionTime">;

export interface Findings {
  readonly sandbox: Sandbox;
  readonly sleep: SleepReason | undefined;
  readonly step?: SuspensionStep | undefined;
  readonly suspension: SuspensionStatus | undefined;
  /** Why the Sandbox keeps running although it was to be suspended. */
  readonly refusal?: Shortfall | undefined;
  /** Why the Sandbox cannot continue its saved state. */
  readonly blocked?: Shortfall;
  readonly found: FoundPod;
  readonly service: { readonly isRequired: boolean; readonly exists: boolean };
  /** Problems with the Pod and with other children, as messages for the user. */
  readonly podProblem: string | undefined;
  readonly otherProblems: readonly string[];
  /** Whether only a change of the spec can help. */
  readonly isInvalid?: boolean;
  readonly failures: readonly Failure[];
}

/** The conditions of a Sandbox that has not expired, in the order they are reported. */
export function verdicts(findings: Findings): Verdict[] {
  const generation = findings.sandbox.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const all = [
    suspended(findings),
    finished(findings),
    podScheduled(findings),
    restored(findings),
    podOutdated(findings),
    ready(findings),
  ];
  return all.filter((verdict) => verdict !== undefined).map((verdict) => ({ ...verdict, ...observed }));
}

function verdict(type: string, status: ConditionStatus, reason: string, message: string): Verdict {
  return { type, status, reason, message };
}

function suspended(findings: Findings): Verdict {
  const { sleep, found, step, refusal, suspension } = findings;
  const say = (status: ConditionStatus, reason: string, message: string) =>
    verdict("Suspended", status, reason, adaptMessage(message));
  if (refusal !== undefined) return say("False", refusal.reason, refusal.message);
  if (sleep === undefined) return say("False", "NotSuspended", "Sandbox is not suspended");
  // The reason marks the Sandbox as idle, so it must stay whatever happens to the Pod.
  const reasons = (reason: string): string => (sleep === "idle" ? "Idle" : reason);
  if (isPodUnknown(findings)) return say("Unknown", reasons("PodStateUnknown"), "Pod state is unknown");
  if (step?.type === "wait" && step.for === "Restoring") {
    return say("False", reasons("Restoring"), "Pod is being restored. Sandbox is suspended after that");
  }
  if (step?.type === "save" || step?.type === "wait") {
    return say("False", reasons("Saving"), "Pod is being saved. Sandbox is suspending");
  }
  if (found.type === "owned" || found.type === "several") {
    return say("False", reasons("PodTerminating"), "Pod is terminating. Sandbox is suspending");
  }
  if (found.type === "other" && sleep === "spec") {
    return say("False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox");
  }
  return say(
    "True",
    reasons(suspension?.reason ?? "PodTerminated"),
    `Pod has been terminated. ${depthText(suspension)}`,
  );
}

function depthText(suspension: SuspensionStatus | undefined): string {
  const { depth, message } = suspension ?? {};
  if (depth === undefined) return "Sandbox is suspended";
  return `Sandbox is suspended with depth ${depth}${message ? `: ${message}` : ""}`;
}

/** Whether the last resume continued saved memory. Only for a Sandbox that was to continue some. */
function restored({ sleep, suspension, blocked }: Findings): Verdict | undefined {
  const say = (status: ConditionStatus, reason: string, message: string) =>
    verdict("Restored", status, reason, adaptMessage(message));
  if (sleep !== undefined) return undefined;
  if (blocked !== undefined) return say("False", blocked.reason, blocked.message);
  const { restored: depth, epoch = 0, reason, message } = suspension ?? {};
  if (depth === "Memory") return say("True", "MemoryRestored", `Sandbox continues saved memory in epoch ${epoch}`);
  if (depth === undefined || reason === undefined) return undefined;
  return say("False", reason, `Sandbox was started with depth ${depth}: ${message ?? ""}`);
}

/** Whether it is unknown if there is a Pod, because the attempt to create or find it failed. */
function isPodUnknown({ found, podProblem, failures, sleep }: Findings): boolean {
  if (found.type === "owned" || (sleep !== undefined && found.type !== "none")) return false;
  return podProblem !== undefined || found.type === "several" || failures.some(({ step }) => step === "pod");
}

const terminal: Readonly<Record<string, readonly [reason: string, message: string]>> = {
  Succeeded: ["PodSucceeded", "Pod completed successfully"],
  Failed: ["PodFailed", "Pod failed"],
};

/** How the Sandbox's Pod ended. It is not final when the Pod will be replaced. */
function end({
  found,
}: Findings): { verdict: readonly [reason: string, message: string]; isFinal: boolean } | undefined {
  // The processes of a Pod that is saved have ended, but continue in the next one.
  if (found.type !== "owned" || isBeingSaved(found.pod)) return undefined;
  const known = terminal[found.pod.status?.phase ?? ""];
  if (known === undefined) return undefined;
  if (recoveryOf(found.pod) === undefined) return { verdict: known, isFinal: true };
  const message = `${oneLine(describeFailure(found.pod))}. A new Pod replaces it`;
  // Clients take PodFailed as final.
  return { verdict: ["PodReplacing", message], isFinal: false };
}

function finished(findings: Findings): Verdict | undefined {
  const ended = end(findings);
  return ended?.isFinal ? verdict("Finished", "True", ...ended.verdict) : undefined;
}

function podScheduled(findings: Findings): Verdict | undefined {
  const { found } = findings;
  const unknown = (message: string) => verdict("PodScheduled", "Unknown", "PodSchedulingUnknown", message);
  if (found.type !== "owned") {
    return isPodUnknown(findings) ? unknown("Pod state is unknown. Pod scheduling cannot be determined") : undefined;
  }
  const condition = findCondition(found.pod.status?.conditions, "PodScheduled");
  if (condition === undefined) return unknown("Pod has not reported a PodScheduled condition yet");
  return adaptCondition(condition, condition.status === "True" ? "PodScheduled" : "PodSchedulingUnknown");
}

/** Only while the Pod does not run what the spec says. */
function podOutdated({ sandbox, sleep, found, isInvalid }: Findings): Verdict | undefined {
  if (sleep !== undefined || found.type !== "owned" || isTerminating(found.pod) || isInvalid) return undefined;
  if (!isOutdated(sandbox, found.pod)) return undefined;
  const command = `agent-sandbox restart ${sandbox.metadata.name}`;
  const message = `The Pod runs an older spec.podTemplate; "${command}" replaces the Pod and applies the new one`;
  return verdict("PodOutdated", "True", "PodTemplateChanged", message);
}

function ready(findings: Findings): Verdict {
  const { sleep, found, podProblem, otherProblems, failures } = findings;
  const notReady = (reason: string, message: string) => verdict("Ready", "False", reason, message);
  if (found.type === "several" && sleep === undefined) {
    return notReady(
      "MultiplePods",
      `multiple Pods (${found.pods.length}) are controlled by this Sandbox: delete all but one`,
    );
  }
  const withoutErrors = readyWithoutErrors(findings);
  // A transient failure does not make a working Sandbox not Ready.
  const reported = failures.filter(({ isPassing }) => !(isPassing && withoutErrors.status === "True"));
  const errors = [...otherProblems, ...(podProblem ? [podProblem] : []), ...reported.map(({ message }) => message)];
  if (errors.length === 0) return withoutErrors;
  const isInvalid = findings.isInvalid || reported.some((one) => one.step === "pod" && one.isInvalid);
  // Clients stop waiting for a Sandbox with an invalid configuration.
  const reason = isInvalid ? "InvalidConfiguration" : "ReconcilerError";
  return notReady(reason, adaptMessage(`Error seen: ${errors.join("; ")}`));
}

function readyWithoutErrors(findings: Findings): Verdict {
  const { sleep, found, service, blocked } = findings;
  const say = (status: ConditionStatus, reason: string, message: string) => verdict("Ready", status, reason, message);
  if (sleep !== undefined) {
    return say("False", "SandboxSuspended", found.type === "none" ? "Sandbox is suspended" : "Sandbox is suspending");
  }
  if (blocked !== undefined) return say("False", blocked.reason, adaptMessage(blocked.message));
  const ended = end(findings);
  if (ended !== undefined) {
    const [reason, message] = ended.verdict;
    return say("False", reason, ended.isFinal ? explained(findings, message) : message);
  }
  const pod = podReadiness(found.type === "owned" ? found.pod : undefined);
  const suffix = service.exists ? "; Service Exists" : "; Service does not exist";
  const message = service.isRequired ? pod.message + suffix : pod.message;
  return pod.ok && (service.exists || !service.isRequired)
    ? say("True", "DependenciesReady", message)
    : say("False", "DependenciesNotReady", explained(findings, message));
}

/** The message, followed by what is wrong with the Pod. */
function explained(findings: Findings, message: string): string {
  const before = findCondition(findings.sandbox.status?.conditions, "Ready")?.message;
  return withTrouble(message, troubleOf(findings), before);
}

/** What keeps the Sandbox's Pod from being ready. Nothing does while it is being saved or is terminating: it is to end. */
export function troubleOf({ found }: Pick<Findings, "found">): PodTrouble | undefined {
  if (found.type !== "owned" || isTerminating(found.pod) || isBeingSaved(found.pod)) return undefined;
  return podTroubleOf(found.pod);
}

function podReadiness(pod: Pod | undefined): { ok: boolean; message: string } {
  if (pod === undefined) return { ok: false, message: "Pod does not exist" };
  // It may still answer for a while, but requests sent to it now are lost.
  if (isTerminating(pod)) return { ok: false, message: "Pod is terminating" };
  if (isBeingSaved(pod)) return { ok: false, message: "Pod is being saved" };
  const { phase, conditions, podIPs } = pod.status ?? {};
  if (phase !== "Running") return { ok: false, message: `Pod exists with phase: ${phase ?? ""}` };
  if (!isConditionTrue(conditions, "Ready")) return { ok: false, message: "Pod is Running but not Ready" };
  if (!podIPs?.length) return { ok: false, message: "Pod is Ready but has no podIPs yet" };
  return { ok: true, message: "Pod is Ready" };
}

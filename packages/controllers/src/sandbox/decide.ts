import {
  findCondition,
  type Sandbox,
  type SandboxStatus,
  type SuspensionStatus,
  semanticEqual,
  sleepReason,
  suspensionRefusal,
} from "@agent-sandbox/api";
import type { Decision as EngineDecision, EventRecord } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import type { Action } from "./action.ts";
import { type Findings, troubleOf } from "./conditions.ts";
import { expire, shutdownAt } from "./expiry.ts";
import { deleteInMs } from "./idle.ts";
import { type FoundPod, findPod, type Observed, type Snapshot } from "./observed.ts";
import { type PodFinding, runPod, stopPod } from "./pod-step.ts";
import { serviceStep } from "./service.ts";
import type { Settings } from "./settings.ts";
import { forgetOldSnapshot, planSleep } from "./sleep-plan.ts";
import { specProblem } from "./spec-problem.ts";
import { statesOf } from "./states.ts";
import { firstStatusWaitMs, stateStatusWaitMs, statusOf, statusWaitMs } from "./status.ts";
import { scheduleOf } from "./suspend-at.ts";
import { isOverdue, isSaved } from "./suspension.ts";
import { troubleEvents } from "./trouble-events.ts";
import { volumeClaimStep } from "./volume-claims.ts";
import { type Since, watchStates } from "./watched.ts";

export type Decision = EngineDecision<Action, SandboxStatus, Since>;

/** A decision before the memory is added. */
export type Verdict = Omit<Decision, "memory">;

export function decide(snapshot: Snapshot, memory: Since, now: number): Decision {
  const { sandbox, settings, uptimeMs } = snapshot;
  // Garbage collection deletes the children with the Sandbox.
  if (sandbox.metadata.deletionTimestamp !== undefined) return { actions: [], memory: {} };
  if (specProblem(sandbox) !== undefined) return { ...decideNow({ ...snapshot, watched: {} }, now, settings), memory };
  const { watched, since } = watchStates(memory, statesOf(snapshot), uptimeMs);
  return { ...decideNow({ ...snapshot, watched }, now, settings), memory: since };
}

/** What to do, given how long states have held. A stored spec may not satisfy today's schema: the status says what is wrong. */
export function decideNow(observed: Observed, now: number, settings: Settings): Verdict {
  if (observed.sandbox.metadata.deletionTimestamp !== undefined) return { actions: [] };
  try {
    return decideByDeadlines(observed, now, settings);
  } catch (error) {
    return invalid(observed, `Cannot understand the spec: ${errorText(error)}`, now, settings);
  }
}

function decideByDeadlines(observed: Observed, now: number, settings: Settings): Verdict {
  const { sandbox } = observed;
  const problem = specProblem(sandbox);
  if (problem !== undefined) return invalid(observed, problem, now, settings);
  const expiresAt = shutdownAt(sandbox);
  if (expiresAt !== undefined && now >= expiresAt) return expire(observed, now);
  const deleteIn = deleteInMs(observed);
  if (deleteIn === 0) return { actions: [{ do: "delete-sandbox" }] };
  const schedule = scheduleOf(sandbox, now);
  const isRefused = observed.failures.some(({ step }) => step === "sandbox");
  if (schedule.action !== undefined && !isRefused) return { actions: [schedule.action] };
  const verdict = keep(observed, now, settings);
  const shutdown = expiresAt && Math.max(expiresAt, now + 2_000);
  const times = [verdict.requeueAt, addMs(now, deleteIn), shutdown, schedule.at];
  return withRequeue(verdict, times);
}

/** Nothing is changed for a spec that cannot be understood. */
function invalid(observed: Observed, problem: string, now: number, settings: Settings): Verdict {
  const { sandbox, failures } = observed;
  const found = findPod(observed);
  const service = { isRequired: false, exists: sandbox.status?.service !== undefined };
  const sleep = sleepReason(observed.sandbox);
  const { suspension } = sandbox.status ?? {};
  const findings = {
    sandbox,
    sleep,
    suspension,
    found,
    service,
    podProblem: undefined,
    failures,
    otherProblems: [problem],
    isInvalid: true,
  };
  return { actions: [], status: statusOf(findings, now, settings.clusterDomain) };
}

function keep(seen: Observed, now: number, settings: Settings): Verdict {
  const known = { ...seen, sandbox: forgetOldSnapshot(seen.sandbox) };
  const found = findPod(known);
  const plan = planSleep(known, found, { settings, now });
  const { sleep, suspension } = plan;
  const observed = withSuspension(known, suspension);
  const volumes = volumeClaimStep(observed);
  const pod = sleep === undefined ? runPod(observed, found, settings) : stopPod(observed, found, plan.step);
  const hasSeveral = found.type === "several" && sleep === undefined;
  const service = hasSeveral ? { actions: [], isRequired: false, exists: false } : serviceStep(observed);
  const otherProblems = [volumes.problem, service.problem].filter((problem) => problem !== undefined);
  const { sandbox, failures } = observed;
  const findings: Findings = {
    sandbox,
    ...plan,
    found,
    service,
    podProblem: pod.problem,
    ...(pod.blocked && { blocked: pod.blocked }),
    otherProblems,
    failures,
  };
  const status = statusOf(findings, now, settings.clusterDomain);
  const before = seen.sandbox.status;
  // Without the request, only the status keeps the next decision from asking again.
  const refusesLate =
    plan.refusal !== undefined && isOverdue(observed) && suspensionRefusal(seen.sandbox) === undefined;
  const recordsFirst = deletes(pod) && !semanticEqual(before?.suspension, suspension, ["suspension"]);
  const reportsFirst = plan.becomesIdle || refusesLate || recordsFirst;
  // A saved Pod never runs again, so nothing that could be observed later would keep it.
  const goesOn = recordsFirst && !plan.becomesIdle && found.type === "owned" && isSaved(found.pod);
  const report: Action[] = goesOn ? [{ do: "report", status }] : [];
  const isFaulty = troubleOf(findings)?.isFault === true;
  const waitMs = reportsFirst ? 0 : reportsInMs(observed, [before, status], isFaulty);
  const troubles = isFaulty && waitMs === 0 ? troubleEvents(before, status) : [];
  const verdict = {
    actions: [...volumes.actions, ...(reportsFirst ? report : pod.actions), ...service.actions],
    status,
    ...(waitMs > 0 && { statusDueAt: now + waitMs }),
    events: hasSeveral ? severalPodsEvents(sandbox, found) : troubles,
  };
  return withRequeue(verdict, [reportsFirst ? now : undefined, addMs(now, plan.idleInMs), addMs(now, pod.waitMs)]);
}

/** How long the status may wait for the next change. */
function reportsInMs(
  { sandbox, watched }: Observed,
  [before, after]: readonly [SandboxStatus | undefined, SandboxStatus],
  isFaulty: boolean,
): number {
  return (
    firstStatusWaitMs({ sandbox, watched }, after, isFaulty) ||
    statusWaitMs(before, after, watched) ||
    stateStatusWaitMs(watched)
  );
}

/** The status says what a suspension keeps, at the version that was observed, before the Pod is deleted: no image is forgotten. */
function deletes({ actions }: PodFinding): boolean {
  return actions.some((action) => action.do === "delete");
}

function withSuspension(observed: Observed, suspension: SuspensionStatus | undefined): Observed {
  const { sandbox } = observed;
  if (suspension === undefined || suspension === sandbox.status?.suspension) return observed;
  return { ...observed, sandbox: { ...sandbox, status: { ...sandbox.status, suspension } } };
}

/** None while the status already reports it. */
function severalPodsEvents(sandbox: Sandbox, found: FoundPod & { type: "several" }): EventRecord[] {
  if (findCondition(sandbox.status?.conditions, "Ready")?.reason === "MultiplePods") return [];
  const names = found.pods.map(({ metadata }) => metadata?.name).join(", ");
  const text = `multiple Pods (${found.pods.length}) are controlled by this Sandbox: ${names}`;
  return [{ type: "Warning", reason: "MultiplePods", action: "Reconciling", text }];
}

function withRequeue(verdict: Verdict, times: readonly (number | undefined)[]): Verdict {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? verdict : { ...verdict, requeueAt: Math.min(...known) };
}

function addMs(now: number, ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : now + ms;
}

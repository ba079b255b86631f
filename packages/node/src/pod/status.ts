import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import type { ContainerRecord, PodRecord, Termination } from "./record.ts";
import { restarts } from "./restart-policy.ts";

/** Why a Pod's containers do not run, as `state.waiting` shows it. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export interface StatusInput {
  readonly pod: Pod;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  readonly problem?: Problem | undefined;
}

type State = NonNullable<ContainerStatus["state"]>;

/** The status to report: the parts the node owns, over what others have written. */
export function podStatus(input: StatusInput, now: number): PodStatus {
  const { pod, record, hostAddress } = input;
  const containerStatuses = (pod.spec?.containers ?? []).map((container) => containerStatus(container, input));
  const phase = phaseOf(containerStatuses);
  return {
    phase,
    conditions: conditionsFor(input, phase, containerStatuses, now),
    containerStatuses,
    hostIP: hostAddress,
    hostIPs: [{ ip: hostAddress }],
    ...(record !== undefined && {
      startTime: time(record.startTime),
      podIP: record.address,
      podIPs: [{ ip: record.address }],
    }),
  };
}

function containerStatus(container: Container, input: StatusInput): ContainerStatus {
  const { pod, record } = input;
  const kept = record?.containers[container.name];
  const running = kept?.run !== undefined && kept.run.started && kept.ended === undefined;
  const waitsForRestart = kept?.ended !== undefined && restarts(pod, kept.ended);
  const last = waitsForRestart ? kept.ended : kept?.last;
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: record?.image ?? "",
    ready: running,
    started: running,
    restartCount: kept?.attempt ?? 0,
    state: stateOf(kept, container, input),
    lastState: last === undefined ? {} : { terminated: terminated(last, kept) },
    ...(record !== undefined &&
      kept?.run !== undefined && {
        containerID: `${kept.runtime}://${containerId(record.uid, container.name, kept.attempt)}`,
      }),
  };
}

function stateOf(kept: ContainerRecord | undefined, container: Container, { pod, problem }: StatusInput): State {
  if (problem !== undefined) return { waiting: { reason: problem.reason, message: problem.message } };
  if (kept?.run === undefined || !kept.run.started) return { waiting: { reason: "ContainerCreating" } };
  if (kept.ended === undefined) return { running: { startedAt: time(kept.run.startedAt) } };
  if (!restarts(pod, kept.ended)) return { terminated: terminated(kept.ended, kept) };
  const seconds = (kept.backoff?.delayMs ?? 0) / 1000;
  const message = `back-off ${seconds}s restarting failed container=${container.name} pod=${pod.metadata?.name}_${pod.metadata?.namespace}(${pod.metadata?.uid})`;
  return { waiting: { reason: "CrashLoopBackOff", message } };
}

function terminated(ended: Termination, kept: ContainerRecord | undefined): NonNullable<State["terminated"]> {
  return {
    exitCode: ended.exitCode,
    reason: ended.reason,
    startedAt: time(ended.startedAt),
    finishedAt: time(ended.finishedAt),
    containerID: `${kept?.runtime}://${ended.id}`,
  };
}

function phaseOf(statuses: readonly ContainerStatus[]): "Pending" | "Running" | "Succeeded" | "Failed" {
  if (statuses.length > 0 && statuses.every(({ state }) => state?.terminated !== undefined)) {
    return statuses.every(({ state }) => state?.terminated?.exitCode === 0) ? "Succeeded" : "Failed";
  }
  const begun = statuses.some(
    ({ state, lastState }) => state?.waiting === undefined || lastState?.terminated !== undefined,
  );
  return begun ? "Running" : "Pending";
}

function conditionsFor(
  input: StatusInput,
  phase: string,
  statuses: readonly ContainerStatus[],
  now: number,
): PodCondition[] {
  const { pod, record } = input;
  const unready = statuses.filter(({ ready }) => !ready).map(({ name }) => name);
  const notReady =
    phase === "Succeeded"
      ? { reason: "PodCompleted" }
      : { reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` };
  const readiness = unready.length === 0 ? { status: "True" } : { status: "False", ...notReady };
  const prepared = record?.prepared === true && record.released !== true && phase !== "Succeeded" && phase !== "Failed";
  const wanted: PodCondition[] = [
    { type: "PodReadyToStartContainers", status: prepared ? "True" : "False" },
    { type: "Initialized", status: "True" },
    { type: "Ready", ...readiness },
    { type: "ContainersReady", ...readiness },
    { type: "PodScheduled", status: "True" },
  ];
  const before = pod.status?.conditions ?? [];
  const others = before.filter(({ type }) => !wanted.some((own) => own.type === type));
  return [...wanted.map((own) => sinceWhen(own, before, now)), ...others];
}

/** A condition keeps the time of its last change. */
function sinceWhen(own: PodCondition, before: readonly PodCondition[], now: number): PodCondition {
  const old = before.find(({ type }) => type === own.type);
  const same = old?.status === own.status ? old.lastTransitionTime : undefined;
  return { ...own, lastTransitionTime: same ?? time(now) };
}

/** Kubernetes keeps times to the second. */
function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

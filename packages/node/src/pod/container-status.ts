import type { Container, ContainerStatus, Pod } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import { kubeTime } from "./kube-time.ts";
import type { Member, Role } from "./members.ts";
import { hasStarted } from "./plan-containers.ts";
import { isBeingSaved } from "./plan-save.ts";
import { isLive } from "./plan-stop.ts";
import type { ContainerRecord, Failure, Termination } from "./record.ts";
import { restarts } from "./restart-policy.ts";
import { hasSettled } from "./settling.ts";
import type { StatusInput } from "./status.ts";

type State = NonNullable<ContainerStatus["state"]>;

export function containerStatus(
  { role, container }: Member,
  input: StatusInput,
  isInitialized: boolean,
): ContainerStatus {
  const { pod, record, health, now } = input;
  const kept = record?.containers[container.name];
  const started = hasStarted(container, kept, health);
  const waitsForRestart = kept?.ended !== undefined && !input.isDone && restarts(pod, role, kept.ended);
  const isHealthy = health[container.name]?.ready !== false && hasSettled(container, kept, now);
  const last = waitsForRestart ? kept.ended : kept?.last;
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: kept?.image ?? "",
    ready: role === "init" ? kept?.ended?.exitCode === 0 : started && isHealthy && !isBeingSaved(record),
    started,
    restartCount: kept?.attempt ?? 0,
    state: stateOf({ role, container }, input, isInitialized),
    lastState: last === undefined ? {} : { terminated: terminated(last, kept) },
    ...(record !== undefined &&
      kept?.run !== undefined && {
        containerID: `${kept.runtime}://${containerId(record.uid, container.name, kept.attempt)}`,
      }),
  };
}

function stateOf({ role, container }: Member, input: StatusInput, isInitialized: boolean): State {
  const { pod, record, problem, isDone } = input;
  const kept = record?.containers[container.name];
  if (isLive(kept) && kept?.run?.started) return { running: { startedAt: kubeTime(kept.run.startedAt) } };
  if (problem !== undefined) return { waiting: { reason: problem.reason, message: problem.message } };
  if (kept?.ended !== undefined && (isDone || !restarts(pod, role, kept.ended))) {
    return { terminated: terminated(kept.ended, kept) };
  }
  if (kept?.failure !== undefined) return { waiting: waitingFor(container, kept.failure) };
  if (kept?.ended !== undefined) return { waiting: backingOff(container.name, pod, kept) };
  return { waiting: { reason: waitsItsTurn(role, pod, isInitialized) ? "PodInitializing" : "ContainerCreating" } };
}

function waitsItsTurn(role: Role, pod: Pod, isInitialized: boolean): boolean {
  return (pod.spec?.initContainers ?? []).length > 0 && (role !== "main" || !isInitialized);
}

/** Like the kubelet, reports ImagePullBackOff from the second failed pull on. */
function waitingFor({ image = "" }: Container, { reason, message, tries }: Failure): NonNullable<State["waiting"]> {
  if (reason !== "ErrImagePull" || tries < 2) return { reason, message };
  return { reason: "ImagePullBackOff", message: `Back-off pulling image "${image}": ${message}` };
}

function backingOff(name: string, pod: Pod, { backoff }: ContainerRecord): NonNullable<State["waiting"]> {
  return {
    reason: "CrashLoopBackOff",
    message: `back-off ${(backoff?.delayMs ?? 0) / 1000}s ${restartingText(name, pod)}`,
  };
}

export function restartingText(container: string, { metadata }: Pod): string {
  return `restarting failed container=${container} pod=${metadata?.name}_${metadata?.namespace}(${metadata?.uid})`;
}

function terminated(ended: Termination, kept: ContainerRecord | undefined): NonNullable<State["terminated"]> {
  return {
    exitCode: ended.exitCode,
    reason: ended.reason,
    startedAt: kubeTime(ended.startedAt),
    finishedAt: kubeTime(ended.finishedAt),
    containerID: `${kept?.runtime}://${ended.id}`,
    ...(ended.message !== undefined && { message: ended.message }),
  };
}

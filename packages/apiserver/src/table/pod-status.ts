import { type ApiObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { ageOf } from "./age.ts";
import { none } from "./column.ts";

/** Ready and total number of containers, including sidecars. */
export function readyContainers(pod: ApiObject): string {
  const sidecars = sidecarNames(pod);
  const running = statuses(pod, "initContainerStatuses").filter((each) => isStartedSidecar(each, sidecars));
  const ready = [...running, ...statuses(pod, "containerStatuses")].filter((each) => valueAt(each, "ready") === true);
  return `${ready.length}/${objectsAt(pod, "spec", "containers").length + sidecars.size}`;
}

/** The names of init containers that keep running (`restartPolicy: Always`). */
function sidecarNames(pod: ApiObject): Set<unknown> {
  const all = objectsAt(pod, "spec", "initContainers");
  return new Set(all.filter((each) => each["restartPolicy"] === "Always").map((each) => each["name"]));
}

function isStartedSidecar(status: unknown, sidecars: ReadonlySet<unknown>): boolean {
  return sidecars.has(valueAt(status, "name")) && valueAt(status, "started") === true;
}

export function restarts(pod: ApiObject, nowMs: number): string {
  const all = [...statuses(pod, "initContainerStatuses"), ...statuses(pod, "containerStatuses")];
  const count = all.reduce<number>((sum, each) => sum + Number(valueAt(each, "restartCount") ?? 0), 0);
  const ended = all
    .map((each) => stringAt(each, "lastState", "terminated", "finishedAt") ?? "")
    .sort()
    .at(-1);
  return count === 0 || !ended ? String(count) : `${count} (${ageOf(ended, nowMs)} ago)`;
}

/** The number of readiness gates whose condition is true. */
export function readinessGates(pod: ApiObject): string {
  const gates = objectsAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return none;
  const held = gates.filter((gate) =>
    objectsAt(pod, "status", "conditions").some(
      ({ type, status }) => type === gate["conditionType"] && status === "True",
    ),
  );
  return `${held.length}/${gates.length}`;
}

/** The status that kubectl shows, derived from the phase, the reasons of containers and deletion. */
export function podStatus(pod: ApiObject): string {
  const phase = stringAt(pod, "status", "phase") ?? "Unknown";
  const deleting = pod.metadata.deletionTimestamp !== undefined;
  if (deleting) return stringAt(pod, "status", "reason") === "NodeLost" ? "Unknown" : "Terminating";
  return initReason(pod) ?? containerReason(pod) ?? gatedReason(pod) ?? stringAt(pod, "status", "reason") ?? phase;
}

function gatedReason(pod: ApiObject): string | undefined {
  const gated = objectsAt(pod, "status", "conditions").some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return gated ? "SchedulingGated" : undefined;
}

function initReason(pod: ApiObject): string | undefined {
  const all = statuses(pod, "initContainerStatuses");
  const sidecars = sidecarNames(pod);
  for (const [done, status] of all.entries()) {
    const terminated = valueAt(status, "state", "terminated");
    if (valueAt(terminated, "exitCode") === 0 || isStartedSidecar(status, sidecars)) continue;
    if (terminated !== undefined) return `Init:${endReason(terminated)}`;
    const waiting = stringAt(status, "state", "waiting", "reason");
    return waiting !== undefined && waiting !== "PodInitializing" ? `Init:${waiting}` : `Init:${done}/${all.length}`;
  }
  return undefined;
}

function containerReason(pod: ApiObject): string | undefined {
  let reason: string | undefined;
  let running = false;
  for (const status of statuses(pod, "containerStatuses").toReversed()) {
    const waiting = stringAt(status, "state", "waiting", "reason");
    const terminated = valueAt(status, "state", "terminated");
    if (waiting !== undefined && waiting !== "") reason = waiting;
    else if (terminated !== undefined) reason = endReason(terminated);
    else if (valueAt(status, "ready") === true) running = true;
  }
  return reason === "Completed" && running ? "Running" : reason;
}

function endReason(terminated: unknown): string {
  const reason = stringAt(terminated, "reason");
  if (reason !== undefined && reason !== "") return reason;
  const signal = Number(valueAt(terminated, "signal") ?? 0);
  return signal === 0 ? `ExitCode:${String(valueAt(terminated, "exitCode"))}` : `Signal:${signal}`;
}

function statuses(pod: ApiObject, key: string): unknown[] {
  const list = valueAt(pod, "status", key);
  return Array.isArray(list) ? list : [];
}

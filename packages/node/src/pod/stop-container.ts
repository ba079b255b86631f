import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { containerId, logPath, messagePath } from "../layout.ts";
import { pathsOf, writeContainer } from "./create-container.ts";
import type { Effects } from "./effects.ts";
import { type Machine, runtimeNamed } from "./machine.ts";
import { holderName, memberNamed } from "./members.ts";
import type { ContainerRecord, PodRecord, StopCause } from "./record.ts";
import { terminationMessage } from "./termination-message.ts";

const causes: Readonly<Record<StopCause, (name: string) => string>> = {
  deleted: (name) => `Stopping container ${name}`,
  "pod over": (name) => `Stopping container ${name}`,
  deadline: (name) => `Stopping container ${name}`,
  liveness: (name) => `Container ${name} failed liveness probe, will be restarted`,
  startup: (name) => `Container ${name} failed startup probe, will be restarted`,
  "post-start": () => "FailedPostStartHook",
  changed: (name) => `Container ${name} definition changed, will be restarted`,
};

/** Records that a container is being stopped. The next decisions perform the steps. */
export async function beginStop(
  { machine, recordEvent }: Effects,
  pod: Pod | undefined,
  record: PodRecord,
  stop: { readonly container: string; readonly because: StopCause; readonly graceMs: number },
): Promise<void> {
  const { container, because, graceMs } = stop;
  const kept = record.containers[container];
  if (kept === undefined) return;
  const since = machine.now();
  const isWhole = because === "deleted" || because === "pod over" || because === "deadline";
  const pods = isWhole && record.stoppingSince === undefined ? { ...record, stoppingSince: since } : record;
  await writeContainer(machine, pods, container, { ...kept, stopping: { since, graceMs, because } });
  if (pod !== undefined) recordEvent(pod, { reason: "Killing", text: causes[because](container), container });
}

/** Signals the first process of a container. Records the time of the first signal before sending it. */
export async function signalContainer(
  machine: Machine,
  record: PodRecord,
  name: string,
  signal: "SIGTERM" | "SIGKILL",
): Promise<void> {
  const kept = record.containers[name];
  if (kept === undefined) return;
  if (kept.stopping !== undefined && kept.stopping.signalledAt === undefined) {
    const stopping = { ...kept.stopping, signalledAt: machine.now() };
    await writeContainer(machine, record, name, { ...kept, stopping });
  }
  const wanted = signal === "SIGTERM" ? (kept.stopSignal ?? signal) : signal;
  await runtimeNamed(machine, kept.runtime).kill(containerId(record.uid, name, kept.attempt), wanted);
}

/** Records how a run ended, with its termination message, and deletes the container from the runtime. */
export async function recordExit(
  { machine, tasks, recordEvent }: Effects,
  pod: Pod | undefined,
  record: PodRecord,
  { container: name, record: over }: { readonly container: string; readonly record: ContainerRecord },
): Promise<void> {
  const ended = over.ended === undefined ? undefined : await withMessage(machine, pod, record, { name, over });
  await writeContainer(machine, record, name, { ...over, ...(ended !== undefined && { ended }) });
  const id = containerId(record.uid, name, over.attempt);
  await runtimeNamed(machine, over.runtime).remove(id);
  await rm(join(machine.layout.exitsDir, id), { force: true });
  for (const task of Object.keys(tasks.of(record.uid))) {
    if (task.endsWith(`:${name}:${over.attempt}`)) tasks.forget(record.uid, task);
  }
  if (pod !== undefined && name !== holderName && (over.backoff?.delayMs ?? 0) > 0 && !isStopped(record)) {
    const text = `Back-off restarting failed container ${name} in pod ${record.name}_${record.namespace}(${record.uid})`;
    recordEvent(pod, { type: "Warning", reason: "BackOff", text, container: name });
  }
}

function isStopped({ stoppingSince, verdict }: PodRecord): boolean {
  return stoppingSince !== undefined || verdict !== undefined;
}

async function withMessage(
  machine: Machine,
  pod: Pod | undefined,
  record: PodRecord,
  { name, over }: { readonly name: string; readonly over: ContainerRecord },
): Promise<NonNullable<ContainerRecord["ended"]> | undefined> {
  const container = pod === undefined ? undefined : memberNamed(pod, name)?.container;
  if (container === undefined || over.ended === undefined) return undefined;
  const paths = pathsOf(machine, record, name);
  const files = { message: messagePath(paths, over.attempt), log: logPath(paths, over.attempt) };
  const message = await terminationMessage(container, files, over.ended.exitCode);
  return message === undefined ? over.ended : { ...over.ended, message };
}

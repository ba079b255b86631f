import type { Pod } from "@agent-sandbox/api";
import { containerId } from "../layout.ts";
import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { holderName, memberNamed } from "../pod/members.ts";
import { isLive } from "../pod/plan-stop.ts";
import type { PodRecord } from "../pod/record.ts";
import { type LifecycleReport, runsSandboxd } from "./sandboxd-lifecycle.ts";
import { StateError } from "./state-error.ts";

/**
 * In the image of a snapshot every process is stopped, except sandboxd: a fork gets its identity and runs its hook before any of
 * them continues. sandboxd stops the processes of its own container, the first one. The node stops those of the others, which
 * sandboxd cannot see, in one step by gVisor. Processes there that somebody else had stopped continue too.
 */
export interface StoppedContainers {
  readonly runtime: string;
  /** By their ids in the runtime. */
  readonly ids: readonly string[];
}

/** The containers whose processes the node has to stop. None in a Pod without sandboxd: nothing refreshes a fork of it. */
export function containersToStop(machine: Machine, pod: Pod, record: PodRecord): StoppedContainers {
  const [first] = pod.spec?.containers ?? [];
  const runtime = record.containers[first?.name ?? ""]?.runtime ?? "";
  if (!runsSandboxd(pod) || runtimeNamed(machine, runtime).checkpoints === undefined) return { runtime, ids: [] };
  const ids = Object.entries(record.containers).flatMap(([name, kept]) => {
    const isOther = name !== holderName && name !== first?.name && memberNamed(pod, name)?.role !== "ephemeral";
    return isOther && isLive(kept) ? [containerId(record.uid, name, kept.attempt)] : [];
  });
  return { runtime, ids };
}

export async function stopProcesses(machine: Pick<Machine, "runtimes">, stopped: StoppedContainers): Promise<void> {
  await signalAll(machine, stopped, "STOP");
}

/** Can be repeated. Containers that have ended are left out. */
export async function continueProcesses(machine: Pick<Machine, "runtimes">, stopped: StoppedContainers): Promise<void> {
  await signalAll(machine, stopped, "CONT");
}

async function signalAll(
  { runtimes }: Pick<Machine, "runtimes">,
  { runtime, ids }: StoppedContainers,
  signal: "STOP" | "CONT",
): Promise<void> {
  const checkpoints = runtimes.get(runtime)?.checkpoints;
  if (checkpoints !== undefined) await Promise.all(ids.map((id) => checkpoints.signalAll(id, signal)));
}

/** sandboxd continues its processes after 30 seconds by itself. */
const stoppedForMs = 25_000;

/** Throws if processes may run in an image that is taken now. `since`: when sandboxd was asked to stop them. */
export function checkStopped(report: LifecycleReport | undefined, since: number): void {
  const refuse = (why: string): never => {
    throw new StateError("SaveFailed", `Cannot take a snapshot whose forks would get their identity in time: ${why}`);
  };
  if (report === undefined) return;
  if (report.failures.length > 0) refuse(report.failures.join("; "));
  if (performance.now() - since > stoppedForMs) refuse(`stopping the Pod took more than ${stoppedForMs / 1000} s`);
}

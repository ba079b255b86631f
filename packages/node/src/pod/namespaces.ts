import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { OciNamespace } from "../oci/spec.ts";
import { processStart } from "../system/processes.ts";
import { holderName, type Member } from "./members.ts";
import { isLive } from "./plan-stop.ts";
import type { PodRecord, ProcessMark } from "./record.ts";

const ownOnes: readonly OciNamespace[] = [{ type: "mount" }, { type: "cgroup" }];

/** The namespaces of a Pod's only container, or of the holder. */
export function aloneNamespaces(netnsPath: string): OciNamespace[] {
  return [{ type: "network", path: netnsPath }, ...ownOnes, { type: "pid" }, { type: "ipc" }, { type: "uts" }];
}

/**
 * The namespaces of a container. It shares the network with all containers of its Pod, the UTS and IPC namespaces with those
 * that run at the same time, and the PID namespace if the Pod has `shareProcessNamespace` or, for an ephemeral container,
 * if it has a `targetContainerName`.
 */
export async function namespacesFor(
  pod: Pod,
  record: PodRecord,
  member: Member,
  netnsPath: string,
): Promise<OciNamespace[]> {
  const live = Object.entries(record.containers).filter(([, kept]) => isLive(kept));
  const holder = live.find(([name]) => name === holderName)?.[1].run?.process;
  const target = (member.container as { targetContainerName?: string }).targetContainerName;
  const watched = target === undefined ? undefined : live.find(([name]) => name === target)?.[1].run?.process;
  const main = member.role === "ephemeral" ? live.find(([name]) => name !== holderName)?.[1].run?.process : undefined;
  const shared = await pathOf(holder ?? main);
  const processes = pod.spec?.shareProcessNamespace ? shared : await pathOf(watched);
  return [
    { type: "network", path: netnsPath },
    ...ownOnes,
    { type: "pid", ...(processes !== undefined && { path: `${processes}/pid` }) },
    ...["ipc", "uts"].map((type) => ({ type, ...(shared !== undefined && { path: `${shared}/${type}` }) })),
  ];
}

/** The namespaces of a process. Checks its start time, because another process may have got the same pid. */
async function pathOf(mark: ProcessMark | undefined): Promise<string | undefined> {
  if (mark === undefined) return undefined;
  if ((await processStart(mark.pid)) === mark.start) return `/proc/${mark.pid}/ns`;
  throw new NodeError("CreateContainerError", "Cannot join the Pod's namespaces: their holder has just ended");
}

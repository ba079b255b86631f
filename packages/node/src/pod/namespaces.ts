import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { OciNamespace } from "../oci/spec.ts";
import { processStart } from "../system/processes.ts";
import { holderName, type Member } from "./members.ts";
import { isLive } from "./plan-stop.ts";
import type { PodRecord, ProcessMark } from "./record.ts";

const ownOnes: readonly OciNamespace[] = [{ type: "mount" }, { type: "cgroup" }];

/** For a container alone in its Pod, and for the one that holds what the others share. */
export function aloneNamespaces(netnsPath: string): OciNamespace[] {
  return [{ type: "network", path: netnsPath }, ...ownOnes, { type: "pid" }, { type: "ipc" }, { type: "uts" }];
}

/**
 * What a container shares with the others of its Pod: the network always, host name and IPC when they live at the same
 * time, processes when the Pod wants it or, for an ephemeral container, when it is to look into another.
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

/** A process id may have come round to somebody else's process, whose namespaces are none of this Pod's business. */
async function pathOf(mark: ProcessMark | undefined): Promise<string | undefined> {
  if (mark === undefined) return undefined;
  if ((await processStart(mark.pid)) === mark.start) return `/proc/${mark.pid}/ns`;
  throw new NodeError("CreateContainerError", "Cannot join the Pod's namespaces: their holder has just ended");
}

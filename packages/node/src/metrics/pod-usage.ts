import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { containerId, podPaths } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";
import { holderName } from "../pod/members.ts";
import type { PodRecord } from "../pod/record.ts";
import { type CgroupUsage, cgroupUsage } from "./cgroup-usage.ts";

/** One direction of a Pod's network. */
export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

export interface ContainerUsage {
  readonly name: string;
  readonly id: string;
  readonly cgroup: string;
  readonly image: string;
  readonly startedAtMs: number;
  readonly used: CgroupUsage;
  /** Of what it has written, with its logs; as it was last counted. */
  readonly diskBytes: number;
}

/** What one Pod has used of the machine. */
export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly cgroup: string;
  readonly used: CgroupUsage;
  readonly containers: readonly ContainerUsage[];
  /** As the Pod sees it. */
  readonly network: { readonly received: Traffic; readonly sent: Traffic } | undefined;
  /** With its volumes; as it was last counted. */
  readonly diskBytes: number;
  readonly claims: readonly ClaimUsage[];
}

/** What is on the disk, as it was last counted. */
export interface DiskUsage {
  ofPod(uid: string): number;
  ofContainer(uid: string, container: string): number;
  claimsOf(uid: string): readonly ClaimUsage[];
}

export interface ClaimUsage {
  readonly name: string;
  readonly bytes: number;
  readonly usedBytes: number;
}

/** Undefined for a Pod of which nothing runs. */
export async function podUsage(machine: Machine, record: PodRecord, disk: DiskUsage): Promise<PodUsage | undefined> {
  const { namespace, name, uid } = record;
  const { cgroup } = podPaths(machine.layout, uid);
  const used = await cgroupUsage(machine.cgroups, cgroup);
  if (used === undefined) return undefined;
  const containers = await Promise.all(
    Object.keys(record.containers)
      .filter((container) => container !== holderName)
      .map((container) => containerUsage(machine, record, { container, disk })),
  );
  return {
    namespace,
    name,
    uid,
    cgroup,
    used,
    containers: containers.filter((one) => one !== undefined),
    network: await networkUsage(machine.network.interfaceOf(record.address)),
    diskBytes: disk.ofPod(uid),
    claims: disk.claimsOf(uid),
  };
}

/** Where a Pod is one sandbox, its containers have no processes of their own, and only the Pod is told of. */
async function containerUsage(
  machine: Machine,
  { uid, containers }: PodRecord,
  { container, disk }: { readonly container: string; readonly disk: DiskUsage },
): Promise<ContainerUsage | undefined> {
  const kept = containers[container];
  if (kept?.run?.started !== true || kept.ended !== undefined) return undefined;
  const cgroup = `${podPaths(machine.layout, uid).cgroup}/${container}`;
  const used = await cgroupUsage(machine.cgroups, cgroup);
  if (used === undefined) return undefined;
  return {
    name: container,
    id: containerId(uid, container, kept.attempt),
    cgroup,
    image: kept.reference ?? "",
    startedAtMs: kept.run.startedAt,
    used,
    diskBytes: disk.ofContainer(uid, container),
  };
}

/** The machine's end of the link counts the other way round: what it receives, the Pod has sent. */
async function networkUsage(link: string): Promise<PodUsage["network"]> {
  try {
    const [sent, received] = await Promise.all([traffic(link, "rx"), traffic(link, "tx")]);
    return { sent, received };
  } catch {
    return undefined;
  }
}

async function traffic(link: string, direction: "rx" | "tx"): Promise<Traffic> {
  const [bytes = 0, packets = 0, errors = 0, dropped = 0] = await Promise.all(
    ["bytes", "packets", "errors", "dropped"].map(async (what) =>
      Number(await readFile(join("/sys/class/net", link, "statistics", `${direction}_${what}`), "utf8")),
    ),
  );
  return { bytes, packets, errors, dropped };
}

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { containerId, podPaths } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";
import { holderName } from "../pod/members.ts";
import type { PodRecord } from "../pod/record.ts";
import { type CgroupUsage, cgroupUsage } from "./cgroup-usage.ts";

/** The counters of one direction of a Pod's network. */
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
  /** Its layer and logs, at the last measurement. */
  readonly diskBytes: number;
}

/** The resource usage of one Pod. */
export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly cgroup: string;
  readonly used: CgroupUsage;
  readonly containers: readonly ContainerUsage[];
  /** The first container that runs. */
  readonly main: { readonly name: string; readonly id: string } | undefined;
  /** Seen from the Pod. */
  readonly network: { readonly received: Traffic; readonly sent: Traffic } | undefined;
  /** Including its volumes, at the last measurement. */
  readonly diskBytes: number;
  readonly claims: readonly ClaimUsage[];
}

/** Disk usage in bytes, at the last measurement. */
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

/** The usage of a Pod; undefined if none of it runs. */
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
    main: mainContainer(record),
    network: await networkUsage(machine.network.interfaceOf(record.address)),
    diskBytes: disk.ofPod(uid),
    claims: disk.claimsOf(uid),
  };
}

function mainContainer({ uid, containers }: PodRecord): PodUsage["main"] {
  const found = Object.entries(containers).find(
    ([name, { run, ended }]) => name !== holderName && run?.started === true && ended === undefined,
  );
  return found && { name: found[0], id: containerId(uid, found[0], found[1].attempt) };
}

/** Empty for runtimes with one sandbox per Pod: there the containers have no processes on the machine. */
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

/** Reads the counters of the machine's end of the veth pair, where received is what the Pod has sent. */
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

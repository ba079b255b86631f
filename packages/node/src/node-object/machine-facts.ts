import { readFile } from "node:fs/promises";
import { arch, availableParallelism, hostname, networkInterfaces, release, totalmem } from "node:os";
import type { Machine } from "../pod/machine.ts";
import { tryCommand } from "../system/run-command.ts";
import type { MachineFacts } from "./node-object.ts";

/** The Kubernetes version of the Node's `kubeletVersion`. */
export const nodeVersion = "v1.36.3+agent-sandbox";
/** The bridge of this or another node on this machine. */
const anyBridge = /^asb[0-9a-f]{8}$/;
const goNames: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export async function machineFacts(machine: Machine, name: string): Promise<MachineFacts> {
  const [osRelease, machineId, bootId, runtimeVersion] = await Promise.all([
    firstLines("/etc/os-release"),
    firstLines("/etc/machine-id"),
    firstLines("/proc/sys/kernel/random/boot_id"),
    versionOf(machine),
  ]);
  return {
    name,
    hostname: hostname(),
    address: hostAddress(machine),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    diskBytes: machine.capacity.diskBytes,
    pods: machine.podCapacity,
    allocatable: {
      memoryBytes: Math.min(totalmem(), machine.budget.memoryBytes),
      diskBytes: Math.max(0, machine.capacity.diskBytes - machine.budget.diskFreeBytes),
    },
    offered: machine.offered,
    architecture: goNames[arch()] ?? arch(),
    kernel: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? "Linux",
    machineId: machineId.trim(),
    bootId: bootId.trim(),
    runtimeVersion,
    version: nodeVersion,
    sharedKernel: machine.sharedKernel,
  };
}

/** The machine's first external IPv4 address. On a machine without a network, the gateway address of the Pods. */
export function hostAddress({ network }: Machine): string {
  const outside = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    anyBridge.test(name) ? [] : addresses.filter(({ family, internal }) => family === "IPv4" && !internal),
  );
  return outside[0]?.address ?? network.pool.gateway;
}

async function versionOf(machine: Machine): Promise<string> {
  const runtime = machine.runtimes.get(machine.defaultRuntime);
  const said = runtime === undefined ? "" : (await tryCommand(runtime.program, ["--version"])).stdout;
  return `${machine.defaultRuntime}://${/version (\S+)/.exec(said)?.[1] ?? "unknown"}`;
}

async function firstLines(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

import { statfs } from "node:fs/promises";
import {
  type MachineAmount,
  type MachineAmountName,
  type MachineReport,
  type MachineRuntime,
} from "@agent-sandbox/api";
import type { Machine } from "../pod/machine.ts";
import { kernelOf } from "../runtime/shared-kernel.ts";
import { examineMachine, type Finding } from "./examine.ts";

/** What a report is made of. */
export type ReportedMachine = Pick<
  Machine,
  "layout" | "trials" | "budget" | "defaults" | "images" | "suspensions" | "snapshots" | "snapshotRoom" | "now"
>;

/** The result of one run of the checks. */
export interface Examined {
  readonly checkedAt: number;
  readonly checks: readonly Finding[];
}

/** Runs the checks of `agent-sandbox doctor`, without starting containers. */
export async function examineOwnMachine(machine: ReportedMachine, dataDir: string): Promise<Examined> {
  return { checks: await examineMachine(dataDir, {}, machine.trials), checkedAt: machine.now() };
}

export async function reportMachine(machine: ReportedMachine, examined: Examined): Promise<MachineReport> {
  return {
    checkedAt: new Date(examined.checkedAt).toISOString().replace(/\.\d+Z$/, "Z"),
    checks: examined.checks,
    runtimes: runtimesOf(machine),
    amounts: await amountsOf(machine),
  };
}

function runtimesOf({ trials: { runtimes } }: ReportedMachine): MachineRuntime[] {
  return runtimes.usable.flatMap((name): MachineRuntime[] => {
    const runtime = runtimes.present.get(name);
    if (runtime === undefined) return [];
    const kernel = kernelOf(runtime);
    const allowed = runtimes.allowed.includes(name) ? "allowed" : "listed";
    return [
      {
        name,
        use: name === runtimes.default ? "default" : allowed,
        depth: runtime.checkpoints === undefined ? "Filesystem" : "Memory",
        ...(kernel !== undefined && { kernel }),
      },
    ];
  });
}

async function amountsOf(machine: ReportedMachine): Promise<Partial<Record<MachineAmountName, MachineAmount>>> {
  const { layout, budget, defaults, suspensions, snapshotRoom } = machine;
  const [{ bavail, blocks, bsize }, images, snapshots] = await Promise.all([
    statfs(layout.dataDir),
    machine.images.list(),
    machine.snapshots.list(),
  ]);
  const { images: saved, bytes: savedBytes } = suspensions.amounts();
  return {
    sandboxMemoryBytes: { most: budget.memoryBytes },
    sandboxProcesses: { most: budget.pids },
    containerMemoryBytes: { most: defaults.memoryBytes },
    containerProcesses: { most: defaults.pids },
    podDiskBytes: { most: defaults.diskBytes },
    diskBytes: { used: coarse((blocks - bavail) * bsize, blocks * bsize), most: blocks * bsize },
    diskReserveBytes: { most: budget.diskFreeBytes },
    imageBytes: { used: sum(images) },
    savedImages: saved,
    savedBytes,
    snapshots: { used: snapshots.length, most: snapshotRoom.quota.snapshots },
    snapshotBytes: { used: sum(snapshots), most: snapshotRoom.quota.snapshotBytes },
  };
}

const sum = (items: readonly { readonly sizeBytes: number }[]): number =>
  items.reduce((all, { sizeBytes }) => all + sizeBytes, 0);

/** In steps of a two-hundredth: each change is a write of the Node, and every log line changes the disk. */
function coarse(value: number, total: number): number {
  const step = Math.max(1, Math.floor(total / 200));
  return Math.round(value / step) * step;
}

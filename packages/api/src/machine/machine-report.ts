import { oneLine } from "../trouble/one-line.ts";

/**
 * What the node of a box found out about its machine: an annotation of its Node object, for people. Nothing decides by it. Nodes of other
 * clusters do not have it.
 */
export const machineReportAnnotation = "agents.x-k8s.io/machine-report";

/** One line of `agent-sandbox doctor`. */
export interface MachineCheck {
  readonly name: string;
  /** `missing`: the box cannot run. `lacking`: the box runs without a feature. */
  readonly state: "ok" | "lacking" | "missing";
  readonly detail: string;
  /** How to fix it. */
  readonly remedy?: string;
}

/** A runtime that works on the machine. */
export interface MachineRuntime {
  /** The `runtimeClassName`. */
  readonly name: string;
  /** `default`: of Pods without a name; `allowed`: in every namespace; `listed`: where the Namespace names it. */
  readonly use: "default" | "allowed" | "listed";
  /** What a suspension with this runtime keeps. */
  readonly depth: "Memory" | "Filesystem";
  /** Whether its containers have a kernel of their own; absent if that is not known. */
  readonly kernel?: "own" | "shared";
}

/** A bounded resource. Without `most` it is only counted. Amounts are bytes if the name ends in `Bytes`. */
export interface MachineAmount {
  readonly used?: number;
  readonly most?: number;
}

export interface MachineReport {
  /** When the checks ran. RFC 3339. */
  readonly checkedAt: string;
  readonly checks: readonly MachineCheck[];
  readonly runtimes: readonly MachineRuntime[];
  /** By the names in `machineAmounts`. */
  readonly amounts: Readonly<Record<string, MachineAmount>>;
}

/** The amounts that a report may have, in the order in which they are shown. */
export const machineAmounts = [
  "diskBytes",
  "imageBytes",
  "savedBytes",
  "snapshotBytes",
  "savedImages",
  "snapshots",
  "sandboxMemoryBytes",
  "sandboxProcesses",
  "diskReserveBytes",
  "containerMemoryBytes",
  "containerProcesses",
  "podDiskBytes",
] as const;
export type MachineAmountName = (typeof machineAmounts)[number];

const mostChecks = 48;
const mostRuntimes = 24;
const mostText = 300;
const mostName = 80;
/** Annotations of one object may have 256 KiB together. */
const mostBytes = 48 * 1024;

/** The value of the annotation. Long texts are cut, and checks beyond the limits are left out. */
export function formatMachineReport(report: MachineReport): string {
  const checks = report.checks.slice(0, mostChecks).map(boundedCheck);
  const runtimes = report.runtimes.slice(0, mostRuntimes);
  for (;;) {
    const text = JSON.stringify({ ...report, runtimes, checks });
    if (new TextEncoder().encode(text).length <= mostBytes || checks.length === 0) return text;
    checks.pop();
  }
}

/** Reads the annotation. Whoever may write Nodes wrote it: what is not as `formatMachineReport` writes it is left out. */
export function parseMachineReport(text: string | undefined): MachineReport | undefined {
  if (text === undefined || text.length > mostBytes) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || typeof value["checkedAt"] !== "string" || Number.isNaN(Date.parse(value["checkedAt"])))
    return undefined;
  const { checkedAt, checks, runtimes } = value;
  const amounts = isRecord(value["amounts"]) ? value["amounts"] : {};
  return {
    checkedAt,
    checks: oneOfEachName(listOf(checks, mostChecks).flatMap(readCheck)),
    runtimes: oneOfEachName(listOf(runtimes, mostRuntimes).flatMap(readRuntime)),
    amounts: Object.fromEntries(
      machineAmounts.flatMap((name) => (Object.hasOwn(amounts, name) ? [[name, readAmount(amounts[name])]] : [])),
    ),
  };
}

const states: readonly unknown[] = ["ok", "lacking", "missing"];
const uses: readonly unknown[] = ["default", "allowed", "listed"];
const depths: readonly unknown[] = ["Memory", "Filesystem"];
const kernels: readonly unknown[] = ["own", "shared"];

function readCheck(value: unknown): MachineCheck[] {
  if (!isRecord(value)) return [];
  const { name, state, detail, remedy } = value;
  if (typeof name !== "string" || typeof detail !== "string" || !states.includes(state)) return [];
  const check = { name, state: state as MachineCheck["state"], detail };
  return [boundedCheck(typeof remedy === "string" ? { ...check, remedy } : check)];
}

function readRuntime(value: unknown): MachineRuntime[] {
  if (!isRecord(value)) return [];
  const { name, use, depth, kernel } = value;
  if (typeof name !== "string" || name.length > mostName || !uses.includes(use) || !depths.includes(depth)) return [];
  const runtime = { name, use: use as MachineRuntime["use"], depth: depth as MachineRuntime["depth"] };
  return [kernels.includes(kernel) ? { ...runtime, kernel: kernel as "own" | "shared" } : runtime];
}

function readAmount(value: unknown): MachineAmount {
  const { used, most } = isRecord(value) ? value : {};
  return { ...(isAmount(used) && { used }), ...(isAmount(most) && { most }) };
}

const isAmount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

function boundedCheck({ name, state, detail, remedy }: MachineCheck): MachineCheck {
  const check = { name: oneLine(name, mostName), state, detail: oneLine(detail, mostText) };
  return remedy === undefined ? check : { ...check, remedy: oneLine(remedy, mostText) };
}

function oneOfEachName<T extends { readonly name: string }>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [item.name, item])).values()];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

import { type MachineReport, machineReportAnnotation, parseMachineReport, sandboxes } from "@agent-sandbox/api";
import { examineMachine, type Finding } from "@agent-sandbox/node";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { fetchJson } from "../client/discovery.ts";
import { formatBytes } from "../client/format-amounts.ts";
import { describeRuntime, type Kernels, readKernels, readPods } from "../client/pod-runtimes.ts";
import { countRuntimes, type RunningSandbox, runningSandboxes } from "../client/running-sandboxes.ts";
import { formatTable } from "../client/table.ts";

/**
 * Reports what the box can use on this machine, what is missing and how to get it, the saved state, and the runtime of each running
 * sandbox. Exits with 1 when the box cannot run.
 */
export async function doctor(options: GlobalOptions): Promise<void> {
  const dataDir = dataDirFrom(options.dataDir, process.env);
  const box = process.getuid?.() === 0 ? findRunningBox(boxPaths(dataDir)) : undefined;
  const findings = await examineMachine(dataDir, box?.node);
  console.log(report(findings));
  if (box !== undefined) console.log(await describeSandboxes({ dataDir }));
  if (findings.some(({ state }) => state === "missing")) process.exitCode = 1;
}

async function describeSandboxes(options: GlobalOptions): Promise<string> {
  await using connection = await connect(options);
  const { client, transport } = connection;
  const [{ items }, pods, kernels, nodes] = await Promise.all([
    client.list(sandboxes),
    readPods(transport, undefined),
    readKernels(transport),
    fetchJson(transport, "/api/v1/nodes"),
  ]);
  const running = reportSandboxes(runningSandboxes(items, pods ?? []), kernels);
  return [...reportState(machineReportIn(nodes)), running].join("\n");
}

interface Nodes {
  readonly items: readonly { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }[];
}

/** The box has one node. It writes its report some seconds after the start, and then once a minute. */
function machineReportIn(nodes: unknown): MachineReport | undefined {
  return parseMachineReport((nodes as Nodes).items[0]?.metadata.annotations?.[machineReportAnnotation]);
}

const stateAmounts = [
  ["saved images of suspended sandboxes", "savedImages", String],
  ["size of saved images", "savedBytes", formatBytes],
  ["snapshots", "snapshots", String],
  ["size of snapshots", "snapshotBytes", formatBytes],
] as const;

export function reportState(found: Pick<MachineReport, "amounts"> | undefined): string[] {
  const rows = stateAmounts.flatMap(([title, name, format]) => {
    const { used, most } = found?.amounts[name] ?? {};
    return used === undefined ? [] : [{ cells: [title, format(used), most === undefined ? "" : format(most)] }];
  });
  if (rows.length === 0) return ["", "The node has not reported its saved state yet. Try again in a minute."];
  return ["", formatTable({ columnDefinitions: [{ name: "State" }, { name: "Used" }, { name: "Limit" }], rows })];
}

/** Further sandboxes are only counted. */
const mostListed = 100;

export function reportSandboxes(running: readonly RunningSandbox[], kernels: Kernels): string {
  if (running.length === 0) return "\nNo running sandboxes.";
  const table = formatTable({
    columnDefinitions: [{ name: "Namespace" }, { name: "Sandbox" }, { name: "Runtime" }],
    rows: running.slice(0, mostListed).map(({ namespace, name, runtime }) => ({
      cells: [namespace, name, describeRuntime(runtime, kernels)],
    })),
  });
  const more = running.length > mostListed ? [`and ${running.length - mostListed} more`] : [];
  return ["", table, ...more, "", `Running: ${countRuntimes(running, kernels)}`].join("\n");
}

export function report(findings: readonly Finding[]): string {
  const table = formatTable({
    columnDefinitions: [{ name: "Check" }, { name: "State" }, { name: "Detail" }],
    rows: findings.map(({ name, state, detail }) => ({ cells: [name, state, oneLine(detail)] })),
  });
  const remedies = findings.flatMap(({ name, remedy }) => (remedy === undefined ? [] : [`  ${name}: ${remedy}`]));
  const missing = findings.filter(({ state }) => state === "missing");
  const verdict = missing.length === 0 ? "The box can run here." : "The box cannot run here.";
  return [table, "", ...(remedies.length > 0 ? ["To do:", ...remedies, ""] : []), verdict].join("\n");
}

/** Shortens the output of a program to one line. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

import { sandboxes } from "@agent-sandbox/api";
import { examineMachine, type Finding } from "@agent-sandbox/node";
import { boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox } from "../box/running-box.ts";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { describeRuntime, type Kernels, readKernels, readPods } from "../client/pod-runtimes.ts";
import { countRuntimes, type RunningSandbox, runningSandboxes } from "../client/running-sandboxes.ts";
import { formatTable } from "../client/table.ts";

/**
 * Reports what the box can use on this machine, what is missing and how to get it, and the runtime of each running sandbox.
 * Exits with 1 when the box cannot run.
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
  const [{ items }, pods, kernels] = await Promise.all([
    client.list(sandboxes),
    readPods(transport, undefined),
    readKernels(transport),
  ]);
  return reportSandboxes(runningSandboxes(items, pods ?? []), kernels);
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

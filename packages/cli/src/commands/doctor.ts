import { examineMachine, type Finding } from "@agent-sandbox/node";
import { dataDirFrom } from "../box/box-paths.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { formatTable } from "../client/table.ts";

/** Says what of the machine the box can use, what is missing and how to get it. Exits with 1 when it cannot run. */
export async function doctor(options: GlobalOptions): Promise<void> {
  const findings = await examineMachine(dataDirFrom(options.dataDir, process.env));
  console.log(report(findings));
  if (findings.some(({ state }) => state === "missing")) process.exitCode = 1;
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

/** What a program complains about may be long. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

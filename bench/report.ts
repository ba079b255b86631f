import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";

/** Figures by name: `<subject>_<unit>`, or `<subject>_ratio` for our value divided by the one compared with. */
export type Figures = Readonly<Record<string, number>>;

export const resultsFolder = join(import.meta.dirname, "results");

/** Writes `bench/results/<name>.json`: the figures with the machine, the commit and the date. */
export function writeResults(name: string, figures: Figures): string {
  const rounded = Object.entries(figures).map(([figure, value]) => [figure, Number(value.toPrecision(4))] as const);
  const place = { machine: machine(), commit: commit(), date: new Date().toISOString() };
  mkdirSync(resultsFolder, { recursive: true });
  const path = join(resultsFolder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify({ ...Object.fromEntries(rounded), ...place }, null, 2)}\n`);
  return path;
}

/** Formats a table for the terminal. Numbers are aligned to the right. */
export function formatTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const texts = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], index: number): string =>
    row
      .map((text, column) => {
        const isNumber = index > 0 && typeof rows[index - 1]?.[column] === "number";
        return isNumber ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
      })
      .join("  ")
      .trimEnd();
  return texts.map(line).join("\n");
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value that this share of the values (for instance 0.9) is below. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs two variants as A B B A A B B A …, so that both see the same if the machine becomes slower or faster. */
export async function interleave<R>(
  pairs: number,
  a: () => Promise<R>,
  b: () => Promise<R>,
): Promise<{ a: R[]; b: R[] }> {
  const results: { a: R[]; b: R[] } = { a: [], b: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    const first = pair % 2 === 0 ? "a" : "b";
    for (const arm of [first, first === "a" ? "b" : "a"] as const) results[arm].push(await (arm === "a" ? a() : b()));
  }
  return results;
}

export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The ratio of each pair. The two runs of a pair are neighbours, so they ran under similar conditions. */
export function ratioOf(a: readonly number[], b: readonly number[]): Ratio {
  const ratios = a.map((value, index) => value / (b[index] ?? Number.NaN));
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

function machine(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model.trim() ?? "unknown"}, Linux ${release()}, Node ${process.versions.node}`;
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return "unknown";
  }
}

/** Rewrites `bench/RESULTS.md` from `bench/results/*.json`, and the figures in the README. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { updateReadme } from "../scripts/docs/measured-figures.ts";
import { resultsFolder } from "./report.ts";

const about = new Set(["machine", "commit", "date"]);

function section(file: string): string {
  const name = basename(file, ".json");
  const result = JSON.parse(readFileSync(join(resultsFolder, file), "utf8")) as Record<string, string | number>;
  const rows = Object.entries(result).filter(([figure]) => !about.has(figure));
  return [
    `## ${name}`,
    "",
    `\`make bench-${name}\`, on ${result["machine"]}, commit ${result["commit"]}, ${String(result["date"]).slice(0, 10)}.`,
    "",
    "| figure | value |",
    "|---|---:|",
    ...rows.map(([figure, value]) => `| ${figure} | ${value} |`),
    "",
  ].join("\n");
}

const files = readdirSync(resultsFolder)
  .filter((file) => file.endsWith(".json"))
  .sort();
const head =
  "# Benchmark results\n\nWritten by `make bench` from `bench/results/`; the comment at the top of `bench/<suite>/main.ts` explains the figures.\n";
writeFileSync(join(import.meta.dirname, "RESULTS.md"), [head, ...files.map(section)].join("\n"));
updateReadme();
console.log(`bench/RESULTS.md: ${files.length} benchmarks`);

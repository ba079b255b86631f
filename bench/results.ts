/**
 * Writes what `bench/results/*.json` has into `bench/RESULTS.md`, and the figures into the README. Sections of benchmarks that did not run
 * here stay as they are.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { updateReadme } from "../scripts/docs/measured-figures.ts";
import { withSections } from "../scripts/docs/result-sections.ts";
import { resultsFolder } from "./report.ts";

const about = new Set(["machine", "commit", "date"]);
const page = join(import.meta.dirname, "RESULTS.md");

function section(file: string): [name: string, text: string] {
  const name = basename(file, ".json");
  const result = JSON.parse(readFileSync(join(resultsFolder, file), "utf8")) as Record<string, string | number>;
  const rows = Object.entries(result).filter(([figure]) => !about.has(figure));
  const lines = [
    `## ${name}`,
    "",
    `\`make bench-${name}\`, on ${result["machine"]}, commit ${result["commit"]}, ${String(result["date"]).slice(0, 10)}.`,
    "",
    "| figure | value |",
    "|---|---:|",
    ...rows.map(([figure, value]) => `| ${figure} | ${value} |`),
    "",
  ];
  return [name, lines.join("\n")];
}

const files = readdirSync(resultsFolder).filter((file) => file.endsWith(".json"));
writeFileSync(page, withSections(readFileSync(page, "utf8"), files.map(section)));
updateReadme();
console.log(`bench/RESULTS.md: ${files.length} benchmarks`);

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./pages.ts";

const page = join(root, "README.md");
const results = join(root, "bench/RESULTS.md");

/** A number in a sentence: `{suite/figure}` is replaced by the value, with two digits. */
const rows: readonly (readonly [what: string, value: string])[] = [
  ["a claim of a warm pool, until its sandbox can be used", "{sdk/ready_ts_p50_ms} ms"],
  ["the same, until the output of its first command is there", "{sdk/ttfi_ts_p50_ms} ms"],
  [
    "a new Pod, until it runs",
    "{node/gvisor_running_p50_ms} ms under gVisor, {node/runc_running_p50_ms} ms under runc",
  ],
  ["a command in a running sandbox, from an SDK", "{sdk/exec_ts_p50_ms} ms"],
  ["suspend a sandbox with 256 MiB in memory", "{state/suspend_256mib_p50_ms} ms"],
  ["a request that wakes it, until its answer", "{state/request_256mib_p50_ms} ms"],
  ["a fork, until its first command has run", "{state/fork_first_exec_p50_ms} ms"],
  [
    "memory of an idle Pod",
    "{node/idle_gvisor_pod_pss_mib} MiB under gVisor, {node/idle_runc_pod_pss_mib} MiB under runc",
  ],
  ["requests through the router", "{data-plane/router_requests_per_second} per second"],
];

/** Values by `suite/figure`, from the text of bench/RESULTS.md. */
export function figuresOf(text: string): ReadonlyMap<string, number> {
  const figures = new Map<string, number>();
  let suite = "";
  for (const line of text.split("\n")) {
    suite = /^## (\S+)/.exec(line)?.[1] ?? suite;
    const [, figure, value] = /^\| (\w+) \| ([\d.]+) \|$/.exec(line) ?? [];
    if (figure !== undefined) figures.set(`${suite}/${figure}`, Number(value));
  }
  return figures;
}

export function figuresTable(figures: ReadonlyMap<string, number>): string {
  const lines = rows.map(([what, value]) => {
    const shown = value.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
      const figure = figures.get(name);
      if (figure === undefined) throw new Error(`Cannot make the table of the README: bench/RESULTS.md has no ${name}`);
      return rounded(figure);
    });
    return `| ${what} | ${shown} |`;
  });
  return `| median | |\n|---|---|\n${lines.join("\n")}\n`;
}

/** Two digits: more would differ from one run to the next. */
const rounded = (value: number): string => Number(value.toPrecision(2)).toLocaleString("en");

const between = /(<!-- figures: [^\n]*-->\n)[\s\S]*?(<!-- end of figures -->)/;

export function withFigures(text: string, table: string): string {
  if (!between.test(text)) throw new Error("README.md has no place for the figures");
  return text.replace(between, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
}

export const readReadme = (): string => readFileSync(page, "utf8");
export const currentTable = (): string => figuresTable(figuresOf(readFileSync(results, "utf8")));

/** Writes the figures of bench/RESULTS.md into the README. */
export function updateReadme(): void {
  writeFileSync(page, withFigures(readReadme(), currentTable()));
}

/**
 * Compares our informer with a plain undici loop in time and memory.
 *
 * - `list10k_*`: 10,000 pods of about 5 KB into a Map, from the first request, both in pages of 500.
 * - `watch50k_*`: 50,000 events of a watch, 5 for each pod.
 * - `*_memory_ratio`: peak resident memory of the process; `*_retained_ratio`: memory after a garbage collection.
 * - `*_cpu_ratio`: CPU time of the client's process, which other load on the machine affects less.
 *
 * Every run is a new process; runs alternate (ABBA); a ratio is the median of the ratios of all pairs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { formatTable, interleave, median, type Ratio, ratioOf, writeResults } from "../report.ts";
import { eventCount, podCount } from "./load.ts";

const pairs = Number(process.env["BENCH_PAIRS"] ?? 9);

interface Measured {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly retainedBytes: number;
  readonly size: number;
}

function start(script: string, ...args: string[]): ChildProcess {
  const flags = ["--conditions=source", "--expose-gc", "--disable-warning=ExperimentalWarning"];
  return spawn(process.execPath, [...flags, join(import.meta.dirname, script), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function firstLine<T>(child: ChildProcess): Promise<T> {
  if (!child.stdout) throw new Error("Cannot read the child: it has no output");
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as T;
  throw new Error(`Cannot read the child: it exited with code ${child.exitCode} without output`);
}

async function measure(arm: string, task: string, url: string): Promise<Measured> {
  const child = start("arm.ts", arm, task, url, String(task === "list" ? podCount : eventCount));
  const ended = once(child, "exit");
  const measured = await firstLine<Measured>(child);
  await ended;
  if (measured.size !== podCount) throw new Error(`Cannot use the run: ${arm} ${task} has ${measured.size} objects`);
  return measured;
}

async function compare(task: string, url: string) {
  const { a: ours, b: bare } = await interleave(
    pairs,
    () => measure("informer", task, url),
    () => measure("bare", task, url),
  );
  const figure = (pick: (run: Measured) => number) => ({
    ours: median(ours.map(pick)),
    bare: median(bare.map(pick)),
    ratio: ratioOf(ours.map(pick), bare.map(pick)),
  });
  return {
    time: figure(({ ms }) => ms),
    cpu: figure(({ cpuMs }) => cpuMs),
    memory: figure(({ peakRssBytes }) => peakRssBytes / 2 ** 20),
    retained: figure(({ retainedBytes }) => retainedBytes / 2 ** 20),
  };
}

const server = start("server.ts");
try {
  const { url, bytes } = await firstLine<{ url: string; bytes: number }>(server);
  console.log(`${podCount} pods of ${Math.round(bytes / podCount)} bytes; ${pairs} pairs of fresh processes each\n`);
  const list = await compare("list", url);
  const watch = await compare("watch", url);
  const row = (name: string, { ours, bare, ratio }: { ours: number; bare: number; ratio: Ratio }) =>
    [name, ours, bare, ratio.median, ratio.low, ratio.high].map((cell) =>
      typeof cell === "number" ? Number(cell.toPrecision(4)) : cell,
    );
  const rows = [
    row("list of 10,000, time (ms)", list.time),
    row("list of 10,000, processor time (ms)", list.cpu),
    row("list of 10,000, peak memory (MiB)", list.memory),
    row("list of 10,000, retained (MiB)", list.retained),
    row("watch of 50,000, time (ms)", watch.time),
    row("watch of 50,000, processor time (ms)", watch.cpu),
    row("watch of 50,000, peak memory (MiB)", watch.memory),
  ];
  console.log(formatTable(["", "informer", "bare loop", "ratio", "lowest", "highest"], rows));
  const path = writeResults("kube", {
    list10k_time_ratio: list.time.ratio.median,
    list10k_cpu_ratio: list.cpu.ratio.median,
    list10k_memory_ratio: list.memory.ratio.median,
    list10k_retained_ratio: list.retained.ratio.median,
    watch50k_time_ratio: watch.time.ratio.median,
    watch50k_cpu_ratio: watch.cpu.ratio.median,
    watch50k_memory_ratio: watch.memory.ratio.median,
    list10k_time_ms: list.time.ours,
    list10k_peak_mib: list.memory.ours,
    watch50k_time_ms: watch.time.ours,
  });
  console.log(`\n${path}`);
} finally {
  server.kill();
}

/**
 * Compares the embedded API server with kube-apiserver and etcd: over HTTPS on this machine, with every write on the disk before
 * it is acknowledged. The clients run in a separate process.
 *
 * - `creates_per_s_N`: Pods created by N clients that each wait for the response; `create_p99_ms_1`: latency with one client. Both
 *   servers are warmed up with some thousand creates first.
 * - `creates_64_ratio_to_real`: our rate divided by kube-apiserver's, the median of interleaved pairs.
 * - `get_*`, `list500_*`: one client reads one Pod, or a page of 500.
 * - `watch_*`: from just before an update is sent until it arrives at each of 100 watchers, at 1,000 updates per second.
 * - `ready_ms_*`: from the start of the process until it serves, with an empty store and with 50,000 Pods.
 * - `memory_ratio_per_object`: memory that 50,000 Pods add to the process, divided by their size as JSON.
 *
 * `BENCH_PAIRS` sets the number of measurements. `BENCH_REAL=0` skips kube-apiserver.
 */
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Figures, formatTable, median, ratioOf, writeResults } from "../report.ts";
import { bundleServer, EmbeddedServer, type RealServer, removeFolder, startReal } from "./servers.ts";
import type { Load, Outcome, Server } from "./task.ts";

const pairs = Number(process.env["BENCH_PAIRS"] ?? 3);
const manyPods = 50_000;
const creates = [
  { clients: 64, count: 8000 },
  { clients: 8, count: 4000 },
  { clients: 1, count: 1500 },
] as const;

async function load(task: Load): Promise<Outcome> {
  const script = join(import.meta.dirname, "load.ts");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const answer = await text(child.stdout);
  if (answer === "") throw new Error("Cannot measure: the clients ended without an answer");
  return JSON.parse(answer) as Outcome;
}

interface Measured {
  readonly figure: string;
  readonly ours: readonly Outcome[];
  readonly real: readonly Outcome[];
}

let run = 0;

/** Interleaves the two servers, so that both see the same if the machine becomes slower or faster. */
async function measure(
  figure: string,
  servers: { ours: Server; real: Server | undefined },
  make: (server: Server, run: number) => Load,
): Promise<Measured> {
  const ours: Outcome[] = [];
  const real: Outcome[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    run += 1;
    const arms: (() => Promise<unknown>)[] = [async () => ours.push(await load(make(servers.ours, run)))];
    const other = servers.real;
    if (other !== undefined) arms.push(async () => real.push(await load(make(other, run))));
    if (pair % 2 === 1) arms.reverse();
    for (const arm of arms) await arm();
  }
  console.log(`${figure}: ${describe(ours)}${real.length === 0 ? "" : `; real ${describe(real)}`}`);
  return { figure, ours, real };
}

const middle = (outcomes: readonly Outcome[], pick: (outcome: Outcome) => number): number => median(outcomes.map(pick));

function describe(outcomes: readonly Outcome[]): string {
  const [rate, p50, p99] = [
    middle(outcomes, ({ perSecond }) => perSecond),
    middle(outcomes, ({ p50 }) => p50),
    middle(outcomes, ({ p99 }) => p99),
  ];
  return `${rate.toFixed(0)}/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
}

async function measureServers(ours: Server, real: Server | undefined): Promise<Measured[]> {
  const servers = { ours, real };
  const namespace = "default";
  const measured: Measured[] = [];
  const creation = (server: Server, clients: number, count: number, prefix: string): Load => ({
    do: "create",
    server,
    namespace,
    clients,
    count,
    prefix,
  });
  for (const server of real === undefined ? [ours] : [ours, real]) {
    await load(creation(server, creates[0].clients, creates[0].count, "warm"));
  }
  for (const { clients, count } of creates) {
    measured.push(
      await measure(`creates_${clients}`, servers, (server, at) => creation(server, clients, count, `r${at}`)),
    );
  }
  const prefix = "r1";
  const among = creates[0].count;
  measured.push(
    await measure("get", servers, (server) => ({
      do: "get",
      server,
      namespace,
      clients: 1,
      count: 2000,
      prefix,
      among,
    })),
    await measure("list500", servers, (server) => ({
      do: "list",
      server,
      namespace,
      clients: 1,
      count: 50,
      limit: 500,
    })),
    await measure("watch", servers, (server, at) => ({
      do: "watch",
      server,
      namespace,
      watchers: 100,
      updatesPerSecond: 1000,
      seconds: 5,
      prefix: `r${at}`,
    })),
  );
  return measured;
}

/** Start-up time with an empty store and with many Pods, and the memory of those Pods. */
async function measureStore(script: string, folder: string): Promise<Figures> {
  const readyMs = async (name: string): Promise<number[]> => {
    const times: number[] = [];
    for (let at = 0; at < Math.max(pairs, 3); at += 1) {
      await using server = await EmbeddedServer.start(script, join(folder, name.replace("#", String(at))));
      times.push(server.readyMs);
    }
    return times;
  };
  const empty = await readyMs("empty-#");
  {
    await using _filled = await EmbeddedServer.start(script, join(folder, "many"), manyPods);
  }
  const many = await readyMs("many");
  await using without = await EmbeddedServer.start(script, join(folder, "none"));
  await using with50k = await EmbeddedServer.start(script, join(folder, "many"));
  const [before, after] = [await without.usage(), await with50k.usage()];
  return {
    ready_ms_empty: median(empty),
    ready_ms_50k: median(many),
    memory_ratio_per_object: (after.heldBytes - before.heldBytes) / after.jsonBytes,
  };
}

function figuresOf(measured: readonly Measured[]): Figures {
  const figures: Record<string, number> = {};
  for (const { figure, ours, real } of measured) {
    const [kind, clients] = figure.split("_");
    if (kind === "creates") {
      figures[`creates_per_s_${clients}`] = middle(ours, ({ perSecond }) => perSecond);
      figures[`create_p99_ms_${clients}`] = middle(ours, ({ p99 }) => p99);
      if (real.length > 0) {
        const rates = (outcomes: readonly Outcome[]): number[] => outcomes.map(({ perSecond }) => perSecond);
        figures[`creates_${clients}_ratio_to_real`] = ratioOf(rates(ours), rates(real)).median;
      }
      continue;
    }
    for (const share of ["p50", "p99"] as const) {
      figures[`${figure}_${share}_ms`] = middle(ours, (outcome) => outcome[share]);
      if (real.length > 0) figures[`${figure}_${share}_ms_real`] = middle(real, (outcome) => outcome[share]);
    }
    if (figure === "watch") {
      figures["watch_updates_per_s"] = middle(ours, ({ perSecond }) => perSecond);
      figures["watch_missing_ratio"] = middle(ours, ({ missing = 0 }) => missing);
    }
  }
  return figures;
}

// Not in /tmp, which is in memory on many machines: writes must reach a disk.
const folder = mkdtempSync(join(tmpdir() === "/tmp" ? "/var/tmp" : tmpdir(), "bench-api-"));
let real: RealServer | undefined;
try {
  const script = await bundleServer(folder);
  real = process.env["BENCH_REAL"] === "0" ? undefined : await startReal();
  const measured: Measured[] = [];
  {
    await using ours = await EmbeddedServer.start(script, join(folder, "ours"));
    measured.push(...(await measureServers(ours.server, real?.server)));
  }
  await real?.[Symbol.asyncDispose]();
  real = undefined;
  const figures = { ...figuresOf(measured), ...(await measureStore(script, folder)) };
  const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
  console.log(`\n${formatTable(["figure", "value"], rows)}\n\n${writeResults("api", figures)}`);
} finally {
  await real?.[Symbol.asyncDispose]();
  removeFolder(folder);
}

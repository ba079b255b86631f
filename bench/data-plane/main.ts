/**
 * Measures the cost of the path into a sandbox. Every part is a separate process.
 *
 * - `router_ratio_to_splice`: requests per second, 50 connections in a closed loop, a small page, scoped tokens checked;
 *   compared with a raw TCP splice and with direct connections. `*_cpu_micros`: CPU time per request.
 * - `upload_ratio_to_http`, `download_ratio_to_http`: 64 MiB in one request, compared with the same request to the backend.
 * - `exec_over_spawn_ms_p50`: a command through the router and sandboxd, minus the same command started directly.
 * - `sandboxd_pss_mib`: memory of sandboxd when idle after those commands.
 * - `websocket_kib`: memory of the router for each of 1,000 idle WebSockets.
 * - `wake_router_share_ms`: time of a request to a sleeping sandbox, without the time of the cluster and the backend.
 *
 * Variants alternate; a ratio is the median of the ratios of all rounds.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { type Figures, formatTable, interleave, median, ratioOf, writeResults } from "../report.ts";
import { type Arm, type Arms, cpuMicros, reportOf, startArms } from "./arms.ts";
import { compareExec } from "./exec.ts";
import { type LoadResult, measureLoad } from "./load.ts";
import { download, type Transfer, upload } from "./transfer.ts";
import { measureWakes } from "./wake.ts";

const pairs = Number(process.env["BENCH_PAIRS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 4);
const transferBytes = 64 * 2 ** 20;
const wakes = 20;
const commands = 200;
const restMs = 50_000;
/** V8 needs some ten thousand requests to optimise the router. */
const warmRounds = 4;

type Measured = LoadResult & { readonly cpu: number };

async function load(arms: Arms, arm: Arm): Promise<Measured> {
  const headers = Object.entries({ host: "router", ...arms.headersTo("box"), accept: "*/*", "user-agent": "bench" });
  const request = Buffer.from(
    `GET / HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
  );
  const before = cpuMicros(arm);
  const result = await measureLoad({ host: arm.host, port: arm.port, request, connections: 50, seconds });
  if (result.failures > 0) throw new Error(`Cannot use the run: ${result.failures} requests failed`);
  return { ...result, cpu: (cpuMicros(arm) - before) / (result.requestsPerSecond * seconds) };
}

async function compareLoad(arms: Arms): Promise<Figures> {
  for (let round = 0; round < warmRounds; round += 1) await load(arms, arms.router);
  const names = ["backend", "splice", "router"] as const;
  const runs: Record<(typeof names)[number], Measured[]> = { backend: [], splice: [], router: [] };
  for (let round = 0; round < pairs; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) runs[name].push(await load(arms, arms[name]));
  }
  const of = (name: (typeof names)[number], pick: (run: Measured) => number): number => median(runs[name].map(pick));
  const rows = names.map((name) => [
    name === "backend" ? "direct" : name,
    Math.round(of(name, ({ requestsPerSecond }) => requestsPerSecond)),
    of(name, ({ p50Ms }) => p50Ms).toFixed(2),
    of(name, ({ p99Ms }) => p99Ms).toFixed(2),
    Math.round(of(name, ({ cpu }) => cpu)),
  ]);
  console.log(`${formatTable(["", "requests/s", "p50 ms", "p99 ms", "CPU µs each"], rows)}\n`);
  const rate = ({ requestsPerSecond }: Measured): number => requestsPerSecond;
  return {
    router_ratio_to_splice: ratioOf(runs.router.map(rate), runs.splice.map(rate)).median,
    router_requests_per_second: of("router", rate),
    splice_requests_per_second: of("splice", rate),
    direct_requests_per_second: of("backend", rate),
    router_p99_ms: of("router", ({ p99Ms }) => p99Ms),
    splice_p99_ms: of("splice", ({ p99Ms }) => p99Ms),
    direct_p99_ms: of("backend", ({ p99Ms }) => p99Ms),
    router_cpu_micros: of("router", ({ cpu }) => cpu),
    splice_cpu_micros: of("splice", ({ cpu }) => cpu),
  };
}

async function compareTransfer(arms: Arms, move: (transfer: Transfer) => Promise<number>): Promise<number> {
  const through =
    ({ host, port }: Arm) =>
    () =>
      move({ host, port, headers: arms.headersTo("box"), bytes: transferBytes });
  for (const arm of [arms.router, arms.backend]) for (let warm = 0; warm < 3; warm += 1) await through(arm)();
  const { a: routed, b: plain } = await interleave(pairs * 2 + 1, through(arms.router), through(arms.backend));
  console.log(
    `64 MiB ${move.name}: ${Math.round(median(routed))} MiB/s routed, ${Math.round(median(plain))} MiB/s plain`,
  );
  return ratioOf(routed, plain).median;
}

async function holdWebSockets(arms: Arms, count: number): Promise<number> {
  const router = await arms.freshRouter();
  const open = async (many: number): Promise<WebSocket[]> => {
    const url = `ws://${router.host}:${router.port}/`;
    const opened = Array.from({ length: many }, () => new WebSocket(url, { headers: arms.headersTo("box") }));
    await Promise.all(opened.map((socket) => once(socket, "open")));
    return opened;
  };
  for (const socket of await open(50)) socket.terminate();
  const before = await reportOf(router);
  const sockets: WebSocket[] = [];
  while (sockets.length < count) sockets.push(...(await open(50)));
  const [last] = sockets;
  last?.send("echo");
  if (last) await once(last, "message");
  const after = await reportOf(router);
  for (const socket of sockets) socket.terminate();
  const kib = (after.rssBytes - before.rssBytes) / count / 1024;
  console.log(`${count} idle WebSockets: ${kib.toFixed(1)} KiB each\n`);
  return kib;
}

/** sandboxd returns memory to the system after some idle time. */
async function restingPssMib({ daemon }: Arms, sinceMs: number): Promise<number> {
  await sleep(Math.max(0, sinceMs + restMs - performance.now()));
  const mib = daemon.pssMib();
  console.log(`sandboxd when idle: ${mib.toFixed(1)} MiB`);
  return mib;
}

await using arms = await startArms({ sleepers: wakes + 1 });
const exec = await compareExec(arms, commands);
const lastCommandMs = performance.now();
const figures: Figures = {
  ...exec,
  ...(await compareLoad(arms)),
  upload_ratio_to_http: await compareTransfer(arms, upload),
  download_ratio_to_http: await compareTransfer(arms, download),
  websocket_kib: await holdWebSockets(arms, 1000),
  ...(await measureWakes(arms, wakes)),
  sandboxd_pss_mib: await restingPssMib(arms, lastCommandMs),
};
console.log(writeResults("data-plane", figures));

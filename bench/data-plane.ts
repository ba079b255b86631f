/**
 * What the router costs: the same load through the router, through a raw TCP splice, and directly; each process apart.
 *
 * - `router_ratio_to_splice`: requests per second, 50 connections in a closed loop, a small page, scoped tokens checked.
 * - `*_cpu_micros`: processor time of the router or the splice for one request, which a busy machine disturbs less.
 * - `upload_ratio_to_http`, `download_ratio_to_http`: 64 MiB in one request, against the same request to the backend itself.
 * - `websocket_kib`: memory of the router for each of 1,000 idle WebSockets.
 * - `wake_router_share_ms`: of a request to a sleeping sandbox, what is neither the cluster's nor the backend's time.
 *
 * Runs alternate (ABBA); a ratio is the median of the pairs' ratios.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { type Arm, type Arms, cpuMicros, reportOf, startArms } from "./data-plane-arms.ts";
import { type LoadResult, measureLoad } from "./data-plane-load.ts";
import { download, type Transfer, upload } from "./data-plane-transfer.ts";
import { type Figures, formatTable, interleave, median, ratioOf, writeResults } from "./report.ts";

const pairs = Number(process.env["BENCH_PAIRS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 4);
const transferBytes = 64 * 2 ** 20;
const wakes = 20;

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
  // The compiler needs some ten thousand requests to finish with the router.
  for (let warm = 0; warm < 3; warm += 1) await load(arms, arms.router);
  const direct = await load(arms, arms.backend);
  const { a: routed, b: spliced } = await interleave(
    pairs,
    () => load(arms, arms.router),
    () => load(arms, arms.splice),
  );
  const of = (runs: readonly Measured[], pick: (run: Measured) => number): number =>
    Math.round(median(runs.map(pick)) * 100) / 100;
  const rows = (
    [
      ["direct", [direct]],
      ["splice", spliced],
      ["router", routed],
    ] as const
  ).map(([name, runs]) => [
    name,
    Math.round(median(runs.map(({ requestsPerSecond }) => requestsPerSecond))),
    of(runs, ({ p50Ms }) => p50Ms),
    of(runs, ({ p99Ms }) => p99Ms),
    Math.round(median(runs.map(({ cpu }) => cpu))),
  ]);
  console.log(`${formatTable(["", "requests/s", "p50 ms", "p99 ms", "processor µs each"], rows)}\n`);
  const rate = ({ requestsPerSecond }: Measured): number => requestsPerSecond;
  return {
    router_ratio_to_splice: ratioOf(routed.map(rate), spliced.map(rate)).median,
    router_requests_per_second: median(routed.map(rate)),
    router_p99_ms: median(routed.map(({ p99Ms }) => p99Ms)),
    router_cpu_micros: median(routed.map(({ cpu }) => cpu)),
    splice_cpu_micros: median(spliced.map(({ cpu }) => cpu)),
  };
}

async function compareTransfer(arms: Arms, move: (transfer: Transfer) => Promise<number>): Promise<number> {
  const through =
    ({ host, port }: Arm) =>
    () =>
      move({ host, port, headers: arms.headersTo("box"), bytes: transferBytes });
  await through(arms.router)();
  const { a: routed, b: plain } = await interleave(pairs, through(arms.router), through(arms.backend));
  console.log(
    `64 MiB ${move.name}: ${Math.round(median(routed))} MiB/s routed, ${Math.round(median(plain))} MiB/s plain`,
  );
  return ratioOf(routed, plain).median;
}

async function holdWebSockets(arms: Arms, count: number): Promise<number> {
  const before = await reportOf(arms.router);
  const sockets: WebSocket[] = [];
  for (let opened = 0; opened < count; opened += 50) {
    const batch = Array.from(
      { length: 50 },
      () => new WebSocket(`ws://${arms.router.host}:${arms.router.port}/`, { headers: arms.headersTo("box") }),
    );
    await Promise.all(batch.map((socket) => once(socket, "open")));
    sockets.push(...batch);
  }
  const [last] = sockets;
  last?.send("echo");
  if (last) await once(last, "message");
  const after = await reportOf(arms.router);
  for (const socket of sockets) socket.terminate();
  return Math.max(0, after.rssBytes - before.rssBytes) / count / 1024;
}

/** From the request to the write that wakes, and from the pod's readiness to the answer, less what the answer takes awake. */
async function measureWake(arms: Arms, index: number): Promise<number> {
  const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;
  const ask = async (name: string): Promise<void> => {
    const url = `http://${arms.router.host}:${arms.router.port}/`;
    const answer = await fetch(url, { headers: arms.headersTo(name) });
    if (answer.status !== 200) throw new Error(`Cannot use the wake: status ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const started = machineMs();
  await ask(`sleeper-${index}`);
  const answered = machineMs();
  const { askedMs, readyMs } = await reportOf(arms.router);
  return askedMs - started + (answered - readyMs);
}

using arms = await startArms({ sleepers: wakes + 1 });
const figures: Record<string, number> = { ...(await compareLoad(arms)) };
figures["upload_ratio_to_http"] = await compareTransfer(arms, upload);
figures["download_ratio_to_http"] = await compareTransfer(arms, download);
figures["websocket_kib"] = await holdWebSockets(arms, 1000);
await measureWake(arms, wakes);
const shares: number[] = [];
for (let index = 0; index < wakes; index += 1) shares.push(await measureWake(arms, index));
figures["wake_router_share_ms"] = median(shares);
console.log(
  `1,000 idle WebSockets: ${figures["websocket_kib"]?.toFixed(1)} KiB each; wake, the router's share: ${median(shares).toFixed(2)} ms`,
);
console.log(`\n${writeResults("data-plane", figures)}`);

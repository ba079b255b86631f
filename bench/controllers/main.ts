/**
 * Measures the four controllers on two API servers:
 *
 * - embedded: API server and controllers in one process, as in the box. To measure the controllers' own memory and restarts, they
 *   run in a separate process and use HTTPS.
 * - real, with the suffix `_real`: kube-apiserver and etcd, with the controllers in a separate process, as in a cluster.
 *
 * Both stores are on a disk. The users are simulated in this process, over HTTPS. There is no node: this process also sets each Pod
 * Ready as soon as it exists.
 *
 * - `warm_sequential_writes`, `warm_total_writes`: writes for one claim that takes a Ready pool member, one after the other until
 *   Ready and in total.
 * - `refill_writes`: writes for the new member that replaces it; `cold_writes`: writes for one claim whose pool is empty.
 * - `reconciles_per_claim`: passes of the claim controller per warm claim in a burst of 300. Events do not count as writes.
 * - `burst<n>_all_ready_ms`: from the first of n simultaneous claims to the last one Ready, as the client sees it.
 * - `sustained<r>_p50_ms`, `_p90_`, `_p99_`: from a claim's creation to the event that shows it Ready, at r claims per second
 *   from a pool of 300.
 * - `knee_claims_per_s`: the highest tried rate at which p99 stays below one second.
 * - `kib_per_claim`: memory per completed claim, without the cached objects.
 * - `fill1000_ms`: time to fill a pool from 0 to 1,000 members.
 * - `restart10k_ms`: from the start of the controllers with 10,000 objects until their queues are empty; `restart_writes`: their writes
 *   during that time.
 * - `idle_*`: what they do in 10 s without changes.
 *
 * `BENCH_ONLY=embedded` or `BENCH_ONLY=real` skips the other server. `BENCH_SCALE=0.1` runs a tenth of the load, to test the benchmark.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installCrds } from "../../test/kube-apiserver/install-crds.ts";
import { startKubernetes } from "../../test/kube-apiserver/start.ts";
import type { Server } from "../api/task.ts";
import { type Figures, formatTable, percentile, writeResults } from "../report.ts";
import { type ReadyClaim, Users } from "./load.ts";
import { ControllersProcess, type Happened, type Write } from "./process.ts";

const only = process.env["BENCH_ONLY"];
const scale = Number(process.env["BENCH_SCALE"] ?? 1);
const scaled = (count: number): number => Math.max(1, Math.round(count * scale));
const secondsPerRate = scale < 1 ? 2 : 5;
const rates = [10, 50, 100, 150, 200];
const ratesBeyond = [300, 400, 600, 800, 1200];
const mostKneeMs = 1000;

const isCounted = ({ what }: Write): boolean => !what.includes(" events");

/** Waits until all writes that follow from a change are done. */
async function settled(process: ControllersProcess): Promise<Happened[]> {
  const seen: Happened[] = [await process.ask()];
  do {
    await sleep(1_000);
    seen.push(await process.ask());
  } while ((seen.at(-1)?.writes.length ?? 0) > 0);
  return seen;
}

const writesOf = (seen: readonly Happened[]): Write[] => seen.flatMap(({ writes }) => writes).filter(isCounted);

/** The writes of the claim's own pass. The update of its Pod runs in parallel. */
const claimWrites = ["PATCH sandboxes", "PATCH sandboxclaims", "PATCH sandboxclaims/status"];

/** The length of the longest sequence that ends with `last`, of writes that start after the previous one was answered. */
function sequenceUntil(last: Write | undefined, writes: readonly Write[]): number {
  if (last === undefined) return 0;
  const before = writes.filter(({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt <= last.at);
  return 1 + Math.max(0, ...before.map((write) => sequenceUntil(write, before)));
}

/** The writes for one claim: those to the claim and to its Sandbox, whose Pod has the same name. */
async function countWrites(users: Users, controllers: ControllersProcess): Promise<Figures> {
  await users.createPool("count", 3);
  await settled(controllers);
  const { name, sandbox } = await users.claim("count-warm", "count");
  await users.untilFull("count");
  const writes = writesOf(await settled(controllers));
  const own = writes.filter((write) => write.name === name || write.name === sandbox);
  const inTurn = own.filter(({ what }) => claimWrites.includes(what));
  const status = inTurn.find(({ what }) => what === "PATCH sandboxclaims/status");
  await users.createPool("count-empty", 0);
  await settled(controllers);
  await users.claim("count-cold", "count-empty");
  return {
    warm_sequential_writes: sequenceUntil(status, inTurn),
    warm_total_writes: own.length,
    refill_writes: writes.length - own.length,
    cold_writes: writesOf(await settled(controllers)).length,
  };
}

async function measureBurst(users: Users, controllers: ControllersProcess, count: number): Promise<Figures> {
  const pool = `burst-${count}`;
  await users.createPool(pool, scaled(count));
  await settled(controllers);
  const started = performance.now();
  await users.claims(pool, scaled(count), pool);
  const ms = performance.now() - started;
  await users.untilFull(pool);
  const seen = await settled(controllers);
  const passes = seen.reduce((sum, { passes: { sandboxclaim } }) => sum + sandboxclaim, 0);
  return {
    [`burst${count}_all_ready_ms`]: ms,
    ...(count === 300 && { reconciles_per_claim: passes / scaled(count) }),
  };
}

/** Creates claims at a constant rate, without waiting for earlier ones to become Ready. */
async function sustain(users: Users, rate: number): Promise<number[]> {
  const count = rate * secondsPerRate;
  const claims: Promise<ReadyClaim>[] = [];
  const started = performance.now();
  while (claims.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - started) * rate) / 1000) + 1);
    while (claims.length < due) claims.push(users.claim(`rate-${rate}-${claims.length}`, "sustained"));
    await sleep(2);
  }
  return (await Promise.all(claims)).map(({ ms }) => ms);
}

async function measureRates(users: Users, controllers: ControllersProcess): Promise<Figures> {
  await users.createPool("sustained", 300);
  const figures: Record<string, number> = { knee_claims_per_s: 0 };
  let isSlow = false;
  for (const rate of [...rates, ...ratesBeyond]) {
    await settled(controllers);
    const ms = await sustain(users, rate);
    for (const share of rates.includes(rate) ? [50, 90, 99] : []) {
      figures[`sustained${rate}_p${share}_ms`] = percentile(ms, share / 100);
    }
    isSlow ||= percentile(ms, 0.99) >= mostKneeMs;
    if (!isSlow) figures["knee_claims_per_s"] = rate;
    else if (rate >= Math.max(...rates)) break;
  }
  return figures;
}

/** A claim is three objects: the claim, its Sandbox and a Pod. A pool member is two. */
const settledClaims = 1000;
const waitingMembers = 200;

/** Memory per completed claim beyond its objects. A process without controllers, with the same objects, is subtracted. */
async function measureMemory(users: Users, server: Server): Promise<Figures> {
  const pool = "memory";
  const count = scaled(settledClaims);
  const beyond = async (): Promise<number> => {
    await using controllers = await ControllersProcess.start({ run: "controllers", server });
    await using objects = await ControllersProcess.start({ run: "objects", server });
    return (await controllers.heldBytes()) - (await objects.heldBytes());
  };
  {
    await using controllers = await ControllersProcess.start({ run: "controllers", server });
    await users.createPool(pool, scaled(waitingMembers));
    await settled(controllers);
  }
  const before = await beyond();
  {
    await using controllers = await ControllersProcess.start({ run: "controllers", server });
    for (let made = 0; made < count; made += 200) {
      await users.claims(`memory-${made}`, Math.min(200, count - made), pool);
    }
    await settled(controllers);
  }
  return { kib_per_claim: ((await beyond()) - before) / count / 1024 };
}

async function measureFill(users: Users): Promise<Figures> {
  const started = performance.now();
  await users.createPool("fill", scaled(1000));
  return { fill1000_ms: performance.now() - started };
}

/** Uses the completed claims, and enough pool members for 10,000 objects in total. */
async function measureRestart(users: Users, server: Server): Promise<Figures> {
  {
    await using controllers = await ControllersProcess.start({ run: "controllers", server });
    await users.createPool("many", scaled((10_000 - 3 * settledClaims) / 2 - waitingMembers));
    await settled(controllers);
  }
  await using controllers = await ControllersProcess.start({ run: "controllers", server });
  const { settledMs, writes, cpuMs } = controllers.start;
  const late = writesOf(await settled(controllers));
  await sleep(10_000);
  const idle = await controllers.ask();
  return {
    restart10k_ms: settledMs,
    restart10k_cpu_ms: cpuMs,
    restart_writes: writes.filter(isCounted).length + late.length,
    idle_writes: idle.writes.length,
    idle_cpu_ms_per_s: idle.cpuMs / 10,
  };
}

/** Prints progress, because the run is long. */
function gather(): { readonly figures: Record<string, number>; readonly add: (measured: Figures) => void } {
  const figures: Record<string, number> = {};
  const add = (measured: Figures): void => {
    Object.assign(figures, measured);
    console.error(JSON.stringify(measured));
  };
  return { figures, add };
}

async function measureSpeed(server: Server, controllers: ControllersProcess): Promise<Figures> {
  await using users = await Users.open(server);
  const { figures, add } = gather();
  add(await countWrites(users, controllers));
  for (const count of [100, 300]) add(await measureBurst(users, controllers, count));
  add(await measureRates(users, controllers));
  add(await measureFill(users));
  return figures;
}

async function measureState(server: Server): Promise<Figures> {
  await using users = await Users.open(server);
  const { figures, add } = gather();
  add(await measureMemory(users, server));
  add(await measureRestart(users, server));
  return figures;
}

async function measureEmbedded(dataDir: string): Promise<Figures> {
  const served = ({ start }: ControllersProcess): Server => start.server as Server;
  let speed: Figures;
  {
    await using box = await ControllersProcess.start({ run: "box", dataDir: join(dataDir, "box") });
    speed = await measureSpeed(served(box), box);
  }
  await using server = await ControllersProcess.start({ run: "server", dataDir: join(dataDir, "server") });
  return { ...speed, ...(await measureState(served(server))) };
}

async function measureReal(): Promise<Figures> {
  const speed = await onKubernetes(async (server) => {
    await using controllers = await ControllersProcess.start({ run: "controllers", server });
    return await measureSpeed(server, controllers);
  });
  const figures = Object.entries({ ...speed, ...(await onKubernetes(measureState)) });
  return Object.fromEntries(figures.map(([name, value]) => [`${name}_real`, value]));
}

async function onKubernetes(measure: (server: Server) => Promise<Figures>): Promise<Figures> {
  await using kubernetes = await startKubernetes({
    etcd: "disk",
    controllers: [],
    inFlight: { reading: 2000, writing: 1000 },
    heapGrowthPercent: 100,
  });
  await installCrds(kubernetes);
  const authority = readFileSync(kubernetes.authority.certificate, "utf8");
  return await measure({ url: kubernetes.url, authority, token: kubernetes.admin.token });
}

// Not in /tmp, which is in memory on many machines: writes must reach a disk.
const folder = mkdtempSync(join(tmpdir() === "/tmp" ? "/var/tmp" : tmpdir(), "bench-controllers-"));
try {
  const ours = only === "real" ? {} : await measureEmbedded(folder);
  const figures: Figures = { ...ours, ...(only === "embedded" ? {} : await measureReal()) };
  const rows = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]);
  console.log("Embedded: API server and controllers in one process, as in the box. Real: each in its own.\n");
  console.log(formatTable(["figure", "value"], rows));
  // Partial runs and smaller scales are not recorded.
  if (scale === 1 && only === undefined) console.log(`\n${writeResults("controllers", figures)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

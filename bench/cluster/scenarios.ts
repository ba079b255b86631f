import { setTimeout as sleep } from "node:timers/promises";
import type { ReadyClaim, Users } from "../controllers/load.ts";
import { type Figures, percentile } from "../report.ts";
import type { RunningArm } from "./arm.ts";
import type { AuditLog } from "./audit.ts";

/** What one arm is measured with. */
export interface Measured {
  readonly users: Users;
  readonly audit: AuditLog;
  readonly running: RunningArm;
}

const scale = Number(process.env["BENCH_SCALE"] ?? 1);
/** A count of the full size, or less with BENCH_SCALE. */
export const scaled = (count: number): number => Math.max(1, Math.round(count * scale));

/** Waits until the controller has written nothing for a second. */
async function settled(audit: AuditLog): Promise<{ writes: number; events: number }> {
  const sum = { writes: 0, events: 0 };
  for (let isQuiet = false; !isQuiet; ) {
    await sleep(1_000);
    const { writes, events } = audit.take();
    sum.writes += writes;
    sum.events += events;
    isQuiet = writes + events === 0;
  }
  return sum;
}

/** Waits until the pool is full again. A quiet second alone may be one in which all new Pods start. */
async function refilled({ users, audit }: Measured, pool: string): Promise<{ writes: number; events: number }> {
  const before = await settled(audit);
  await users.untilFull(pool);
  const after = await settled(audit);
  return { writes: before.writes + after.writes, events: before.events + after.events };
}

function latencies(name: string, claims: readonly ReadyClaim[]): Figures {
  const ms = claims.map((claim) => claim.ms);
  return Object.fromEntries([50, 90, 99].map((share) => [`${name}_p${share}_ms`, percentile(ms, share / 100)]));
}

/** Creates claims at a constant rate, without waiting for earlier ones. */
async function paced(
  users: Users,
  pool: string,
  { rate, count }: { rate: number; count: number },
): Promise<ReadyClaim[]> {
  const claims: Promise<ReadyClaim>[] = [];
  const started = performance.now();
  while (claims.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - started) * rate) / 1000) + 1);
    while (claims.length < due) claims.push(users.claim(`${pool}-${rate}-${claims.length}`, pool));
    await sleep(2);
  }
  return await Promise.all(claims);
}

/** What claims cost the controller, with the replacements in their pool. */
async function costs(
  measured: Measured,
  pool: string,
  claim: () => Promise<ReadyClaim[]>,
): Promise<{ claims: ReadyClaim[]; perClaim: Figures }> {
  const { running } = measured;
  const [cpuBefore, reconcilesBefore] = [running.usage().cpuSeconds, await running.reconciles()];
  const claims = await claim();
  const { writes, events } = await refilled(measured, pool);
  const [cpu, reconciles] = [running.usage().cpuSeconds - cpuBefore, (await running.reconciles()) - reconcilesBefore];
  const total = { writes, events, reconciles, cpu_ms: cpu * 1000 };
  const perClaim = Object.entries(total).map(([name, value]) => [`${name}_per_claim`, value / claims.length]);
  return { claims, perClaim: Object.fromEntries(perClaim) as Figures };
}

/** On Pods of a real node: claims at one per second, then three bursts of 20, always from a full pool. */
export async function onRealPods(measured: Measured): Promise<Figures> {
  const { users, audit, running } = measured;
  const size = scaled(20);
  await users.createPool("warm", size);
  await settled(audit);
  const one = await costs(measured, "warm", () => paced(users, "warm", { rate: 1, count: scaled(60) }));
  const bursts: ReadyClaim[] = [];
  for (let burst = 0; burst < 3; burst++) {
    bursts.push(...(await users.claims(`burst-${burst}`, size, "warm")));
    await refilled(measured, "warm");
  }
  return {
    ...latencies("warm", one.claims),
    ...latencies("burst20", bursts),
    ...one.perClaim,
    peak_mib: running.usage().peakMiB,
  };
}

const rates = [5, 10, 20, 40, 60];
const mostKneeMs = 1000;

/** With fake nodes, which start a Pod at once: more claims than a node of this machine could run. */
export async function onFakeNodes(measured: Measured): Promise<Figures> {
  const { users, audit, running } = measured;
  const size = scaled(300);
  await users.createPool("burst", size);
  await settled(audit);
  const burst = await costs(measured, "burst", () => users.claims("burst", size, "burst"));
  const figures: Record<string, number> = { ...latencies("burst300", burst.claims), knee_claims_per_s: 0 };
  for (const [name, value] of Object.entries(burst.perClaim)) figures[`burst300_${name}`] = value;
  for (const rate of rates) {
    const seen = await paced(users, "burst", { rate, count: scaled(Math.max(100, rate * 10)) });
    Object.assign(figures, latencies(`rate${rate}`, seen));
    await refilled(measured, "burst");
    if ((figures[`rate${rate}_p99_ms`] ?? 0) >= mostKneeMs) break;
    figures["knee_claims_per_s"] = rate;
  }
  await users.createPool("empty", 0);
  const cold = performance.now();
  Object.assign(figures, latencies("cold500", await users.claims("cold", scaled(500), "empty")));
  figures["cold500_all_ready_ms"] = performance.now() - cold;
  await settled(audit);
  const filling = performance.now();
  await users.createPool("fill", scaled(1000));
  figures["fill1000_ms"] = performance.now() - filling;
  await settled(audit);
  return { ...figures, fake_peak_mib: running.usage().peakMiB };
}

/**
 * From the start of a controller until it has served a claim, and what it writes in that time. The claims, Sandboxes and Pods of the
 * scenarios before are at least 5,000 objects.
 */
export async function onRestart({ users, audit, running }: Measured): Promise<Figures> {
  const { ms } = await users.claim("after-restart", "fill");
  const { writes } = await settled(audit);
  return {
    restart5k_first_claim_ms: ms,
    restart5k_writes: writes,
    restart5k_cpu_ms: running.usage().cpuSeconds * 1000,
  };
}

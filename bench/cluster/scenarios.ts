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
const scaled = (count: number): number => Math.max(1, Math.round(count * scale));

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

/** On Pods of a real node: claims at one per second, then three bursts of 20, always from a full pool. */
export async function onRealPods({ users, audit, running }: Measured): Promise<Figures> {
  const size = scaled(20);
  await users.createPool("warm", size);
  await settled(audit);
  const before = running.usage().cpuSeconds;
  const one = await paced(users, "warm", { rate: 1, count: scaled(40) });
  await users.untilFull("warm");
  const written = await settled(audit);
  const { cpuSeconds } = running.usage();
  const bursts: ReadyClaim[] = [];
  for (let burst = 0; burst < 3; burst++) {
    bursts.push(...(await users.claims(`burst-${burst}`, size, "warm")));
    await users.untilFull("warm");
    await settled(audit);
  }
  return {
    ...latencies("warm", one),
    ...latencies("burst20", bursts),
    writes_per_claim: written.writes / one.length,
    events_per_claim: written.events / one.length,
    cpu_ms_per_claim: ((cpuSeconds - before) * 1000) / one.length,
    peak_mib: running.usage().peakMiB,
  };
}

const rates = [5, 10, 20, 40, 60];
const mostKneeMs = 1000;

/** With fake nodes, which start a Pod at once: more claims than a node of this machine could run. */
export async function onFakeNodes({ users, audit, running }: Measured): Promise<Figures> {
  const burst = scaled(300);
  await users.createPool("burst", burst);
  await settled(audit);
  const cpuBefore = running.usage().cpuSeconds;
  const claims = await users.claims("burst", burst, "burst");
  await users.untilFull("burst");
  const written = await settled(audit);
  const figures: Record<string, number> = {
    ...latencies("burst300", claims),
    fake_writes_per_claim: written.writes / burst,
    fake_events_per_claim: written.events / burst,
    fake_cpu_ms_per_claim: ((running.usage().cpuSeconds - cpuBefore) * 1000) / burst,
    knee_claims_per_s: 0,
  };
  for (const rate of rates) {
    const seen = await paced(users, "burst", { rate, count: rate * (scale < 1 ? 1 : 5) });
    Object.assign(figures, latencies(`rate${rate}`, seen));
    await users.untilFull("burst");
    await settled(audit);
    if ((figures[`rate${rate}_p99_ms`] ?? 0) >= mostKneeMs) break;
    figures["knee_claims_per_s"] = rate;
  }
  await users.createPool("empty", 0);
  Object.assign(figures, latencies("cold500", await users.claims("cold", scaled(500), "empty")));
  const filling = performance.now();
  await users.createPool("fill", scaled(1000));
  figures["fill1000_ms"] = performance.now() - filling;
  await settled(audit);
  return { ...figures, fake_peak_mib: running.usage().peakMiB };
}

/** The members and claims of the scenarios before, and enough pool members for 5,000 objects: a member and its Pod are two. */
export async function fillForRestart({ users, audit }: Measured): Promise<void> {
  await users.createPool("many", scaled(1000));
  await settled(audit);
}

/** From the start of a controller until it has served a claim, and what it writes in that time. */
export async function onRestart({ users, audit, running }: Measured): Promise<Figures> {
  const { ms } = await users.claim("after-restart", "many");
  const { writes } = await settled(audit);
  return {
    restart5k_first_claim_ms: ms,
    restart5k_writes: writes,
    restart5k_cpu_ms: running.usage().cpuSeconds * 1000,
  };
}

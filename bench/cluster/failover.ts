import { setTimeout as sleep } from "node:timers/promises";
import { type Figures, median } from "../report.ts";
import type { Arm } from "./arm.ts";
import { openControlPlane } from "./control-plane.ts";
import { scaled } from "./scenarios.ts";

/** Two processes with leader election. The leader crashes, and a user creates a claim at that moment, which a full pool can serve. */
export async function measureFailover(arm: Arm, folder: string): Promise<Figures> {
  await using plane = await openControlPlane(arm, folder);
  await using processes = new AsyncDisposableStack();
  const start = async () => processes.use(await plane.start({ elects: true }));
  let leader = await start();
  await leader.whileRunning(plane.users.createPool("pool", 2));
  const ms: number[] = [];
  for (let crash = 0; crash < scaled(10); crash++) {
    const standby = await start();
    // It has started when it waits for the lease, and renewals are at different moments of the next crash.
    await sleep(3_000 + 100 * crash);
    await leader.kill();
    const claim = await standby.whileRunning(plane.users.claim(`crash-${crash}`, "pool"));
    ms.push(claim.ms);
    await plane.users.untilFull("pool");
    leader = standby;
  }
  return { failover_p50_ms: median(ms), failover_slowest_ms: Math.max(...ms) };
}

import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { keepManager, untilAborted } from "./keep-manager.ts";
import { fewestKills, killAtEachWrite, mostKills } from "./kill-at-each-write.ts";
import { ManagerProcess } from "./manager-process.ts";
import type { Hostility } from "./storm-proxy.ts";
import { StormWorld } from "./storm-world.ts";

/**
 * STORM=long runs for some minutes: 1,000 claims, 100 random kills, and a kill after each write of a claim that is also
 * suspended and resumed. The default runs for about a minute.
 */
const isLong = process.env["STORM"] === "long";
const [claims, kills] = isLong ? [1000, 100] : [120, 15];
const hostileClaims = isLong ? 1000 : 40;
const people = 16;
const timeout = isLong ? 3_600_000 : 300_000;
const flags = ["--enable-webhook=false"];
/** Only one process runs at a time, so it does not wait for a lease. */
const alone = [...flags, "--leader-elect=false"];
const seed = Number(process.env["STORM_SEED"] ?? 1);

test(`${kills} kills at random moments of ${claims} claims lose, duplicate and leak nothing (MANAGER-14)`, {
  timeout,
}, async () => {
  const random = seededRandom(seed);
  await using world = await StormWorld.open(random);
  const over = new AbortController();
  const killing = async (): Promise<void> => {
    for (let kill = 0; kill < kills; kill += 1) {
      await using _killed = new ManagerProcess(world.kubeconfig, alone);
      await world.begun(Math.ceil(((kill + random()) * claims) / kills));
      // At any time, not only when a claim is created.
      await sleep(random() * 20);
    }
    await using _last = new ManagerProcess(world.kubeconfig, alone);
    await untilAborted(over.signal);
  };
  const killer = killing();
  await world.live(claims, people);
  await world.settled();
  over.abort();
  await killer;
  expect(world.problems()).toEqual([]);
});

test("the next manager finishes a claim after a kill at each single write (MANAGER-14)", {
  timeout,
}, async () => {
  await using world = await StormWorld.open(seededRandom(seed));
  const kills = await killAtEachWrite(world, alone, { sleeps: isLong });
  expect(world.problems()).toEqual([]);
  expect(kills).toBeGreaterThanOrEqual(isLong ? 16 : fewestKills);
  expect(kills).toBeLessThan(mostKills);
});

const hostility: Hostility = {
  fails: 0.05,
  isBusy: 0.05,
  losesAnswer: 0.02,
  conflicts: 0.1,
  cutsWatchesAfterMs: isLong ? 10_000 : 2_000,
  hasForgotten: 0.5,
};

/** Counted from the end of the faults. */
const convergesWithinMs = 30_000;

/** The faults that must have been injected before a short run ends. */
const kindsOfHarm = 5;
const maxRounds = 20;

async function writesThrough(
  harm: Hostility | undefined,
): Promise<{ writesOfClaim: number; problems: string[]; harmed: number }> {
  await using world = await StormWorld.open(seededRandom(seed));
  const stop = new AbortController();
  world.proxy.hostility = harm;
  const keeping = keepManager(world, flags, stop.signal);
  const most = harm === undefined ? hostileClaims : maxRounds * hostileClaims;
  let lives = hostileClaims;
  await world.live(lives, people);
  while (world.proxy.harm.size < kindsOfHarm && lives < most) {
    lives += hostileClaims;
    await world.live(lives, people);
  }
  world.proxy.hostility = undefined;
  await world.settled({ withinMs: convergesWithinMs });
  stop.abort();
  await keeping;
  const { writes, harm: done } = world.proxy;
  return { writesOfClaim: writes / lives, problems: world.problems(), harmed: done.size };
}

test("a failing API server causes no loss, duplicate or leak, and less than ten times the writes (RECOVER-11)", {
  timeout,
}, async () => {
  const kind = await writesThrough(undefined);
  const hostile = await writesThrough(hostility);
  expect(kind).toMatchObject({ problems: [], harmed: 0 });
  expect(hostile).toMatchObject({ problems: [], harmed: kindsOfHarm });
  expect(hostile.writesOfClaim).toBeLessThan(10 * kind.writesOfClaim);
});

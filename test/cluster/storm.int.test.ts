import { seededRandom } from "@agent-sandbox/kube/testing";
import { describe, expect, inject, test } from "vitest";
import { keepManager } from "../controllers/keep-manager.ts";
import { fewestKills, killAtEachWrite, mostKills } from "../controllers/kill-at-each-write.ts";
import { type StormServer, StormWorld } from "../controllers/storm-world.ts";
import { openShared } from "./shared-server.ts";

/** CLUSTER=long: claims are also suspended and resumed, and more of them meet a failing API server. */
const isLong = process.env["CLUSTER"] === "long";
const hostileClaims = isLong ? 200 : 12;
const timeout = isLong ? 1_800_000 : 240_000;
const flags = ["--enable-webhook=false"];
/** Only one process runs at a time, so it does not wait for a lease. */
const alone = [...flags, "--leader-elect=false"];
const convergesWithinMs = 60_000;

const cluster = inject("cluster");

async function startServer(): Promise<StormServer> {
  const server = await openShared(cluster);
  return {
    transport: server.admin,
    image: cluster.sleeper,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe.skipIf(cluster.sleeper === "")("managers of Pods on a real node", { timeout }, () => {
  test("the next manager finishes a claim after a kill at each single write (MANAGER-14)", async () => {
    await using world = await StormWorld.open(seededRandom(1), { startServer, replicas: 1 });
    const kills = await killAtEachWrite(world, alone, { sleeps: isLong });
    expect(world.problems()).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(fewestKills);
    expect(kills).toBeLessThan(mostKills);
  });

  test("a failing API server causes no loss, duplicate or leak (RECOVER-11)", async () => {
    await using world = await StormWorld.open(seededRandom(1), { startServer, replicas: 2 });
    const stop = new AbortController();
    world.proxy.hostility = {
      fails: 0.05,
      isBusy: 0.05,
      losesAnswer: 0.02,
      conflicts: 0.1,
      cutsWatchesAfterMs: 5_000,
      hasForgotten: 0.5,
    };
    const keeping = keepManager(world, flags, stop.signal);
    await world.live(hostileClaims, 4);
    world.proxy.hostility = undefined;
    await world.settled({ withinMs: convergesWithinMs });
    stop.abort();
    await keeping;
    expect(world.problems()).toEqual([]);
    expect(world.proxy.harm.size).toBeGreaterThan(0);
  });
});

import { seededRandom } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";
import { Ledger } from "./ledger.test.support.ts";

describe("a burst of as many claims as the pool has members", () => {
  let world: ClaimWorld;
  let ledger: Ledger;
  beforeEach(async () => {
    world = new ClaimWorld();
    world.runPods({ afterMs: () => 300 });
    ledger = new Ledger();
    await world.template();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** Makes the claims at once, and waits until all is quiet. */
  async function burst(size: number): Promise<Record<string, number>> {
    const before = world.writes();
    world.server.onChange((change) => ledger.read(change));
    await Promise.all(Array.from({ length: size }, (_, n) => world.claim(`c${n}`)));
    await world.clock.advance(120_000);
    expect(ledger.broken).toEqual([]);
    expect([...ledger.readyTimes.values()]).toEqual(Array.from({ length: size }, () => 1));
    expect(new Set(ledger.boundTo.values()).size).toBe(size);
    expect(ledger.mostMembers).toBeLessThanOrEqual(size);
    expect(world.members()).toHaveLength(size);
    return world.since(before);
  }

  test("binds 100 claims to a Sandbox each and refills the pool with 100 creates (CLAIM-58)", async () => {
    await world.pool({ replicas: 100 });
    world.startAll();
    await world.clock.advance(120_000);
    const spent = await burst(100);
    expect(spent).toMatchObject({ "create sandboxes": 100, "create pods": 100, "patch sandboxclaims/status": 100 });
    expect(spent["patch sandboxes"]).toBe(100);
    // The first four changes, the full pool, and one for the second that the burst takes.
    expect(spent["patch sandboxwarmpools/status"] ?? 0).toBeLessThanOrEqual(6);
  });

  test.for([
    [300, 1],
    [50, 2],
    [50, 3],
  ] as const)("binds %i claims with every watch 0 to 5 s late (seed %i) (CLAIM-58)", async ([size, seed]) => {
    const random = seededRandom(seed);
    await world.pool({ replicas: size });
    world.startAll();
    await world.clock.advance(120_000);
    world.server.watchDelayMs = () => random() * 5_000;
    // One for each claim: what it got was replaced, or was made for it because no member came in time.
    expect((await burst(size))["create sandboxes"]).toBe(size);
  });

  test("binds 100 claims while the pool is still being filled with late watches (CLAIM-58)", async () => {
    const random = seededRandom(4);
    await world.pool({ replicas: 100 });
    world.server.watchDelayMs = () => random() * 5_000;
    world.startAll();
    await world.clock.advance(3_000);
    await burst(100);
    expect(world.writes()["create sandboxes"]).toBe(200);
  });

  test("does not let a namespace with one claim wait for one with hundreds (CLAIM-52)", async () => {
    await world.pool({ replicas: 0 });
    await world.template({}, "quiet");
    await world.pool({ replicas: 0 }, "quiet");
    world.startAll({ workers: 2 });
    await world.clock.advance(10_000);
    const order: string[] = [];
    world.server.onRequest = ({ verb, resource, namespace = "" }) => {
      if (verb !== "create" || resource.plural !== "sandboxes") return undefined;
      order.push(namespace);
      return { delayMs: 10 };
    };
    await Promise.all(Array.from({ length: 200 }, (_, n) => world.claim(`c${n}`)));
    await world.claim("one", {}, { namespace: "quiet" });
    await world.clock.advance(60_000);
    expect([order.length, order.indexOf("quiet") < 10]).toEqual([201, true]);
  });
});

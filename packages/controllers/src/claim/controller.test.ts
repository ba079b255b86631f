import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf, poolOf, templateOf } from "../extensions.test.support.ts";
import { startSandboxController } from "../sandbox/controller.ts";
import { startTemplateController } from "../template/controller.ts";
import { startWarmPoolController } from "../warm-pool/controller.ts";
import { World } from "../world.test.support.ts";
import { startClaimController } from "./controller.ts";

const bare = <T extends { metadata: object }>(object: T, name: string): T => ({
  ...object,
  metadata: { name, namespace: "default" },
});

describe("the SandboxClaim controller with the other controllers", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const start = (options = {}) => {
    world.start(startSandboxController({ ...world.context, now: () => world.clock.date() }));
    world.start(startWarmPoolController(world.context));
    return world.start(startClaimController({ ...world.context, ...options }));
  };
  const claimed = (name: string) => world.server.read(sandboxClaims, { namespace: "default", name });
  const ready = (name: string) => claimed(name)?.status?.conditions?.find(({ type }) => type === "Ready");

  test("serves a claim from the pool (CLAIM-6)", async () => {
    world.runPods();
    start();
    await world.user.create(sandboxTemplates, bare(templateOf(), "test-template"));
    await world.user.create(sandboxWarmPools, bare(poolOf(), "pool"));
    await world.clock.advance(30_000);
    await world.user.create(sandboxClaims, bare(claimOf(), "my-claim"));
    await world.clock.advance(10_000);
    expect(ready("my-claim")).toMatchObject({ status: "True" });
  });

  test.for([0, 900])(
    "waits two whole seconds for a starting member, %i ms after a full second (CLAIM-9)",
    async (offsetMs) => {
      let starts = 600_000;
      world.runPods({ afterMs: () => starts });
      start();
      await world.user.create(sandboxTemplates, bare(templateOf(), "test-template"));
      await world.user.create(sandboxWarmPools, bare(poolOf({ replicas: 1 }), "pool"));
      await world.clock.advance(30_000 + offsetMs);
      starts = 0;
      await world.user.create(sandboxClaims, bare(claimOf(), "my-claim"));
      await world.clock.advance(1_950);
      expect(world.server.read(sandboxes, { namespace: "default", name: "my-claim" })).toBeUndefined();
      await world.clock.advance(100);
      expect(ready("my-claim")).toMatchObject({ status: "True" });
    },
  );

  test("shares one NetworkPolicy cache and reads only from caches (COST-10)", async () => {
    world.runPods();
    start();
    world.start(startTemplateController(world.context));
    await world.user.create(sandboxTemplates, bare(templateOf(), "test-template"));
    await world.user.create(sandboxWarmPools, bare(poolOf(), "pool"));
    await world.clock.advance(30_000);
    for (const name of ["one", "two"]) await world.user.create(sandboxClaims, bare(claimOf(), name));
    await world.clock.advance(30_000);
    expect([ready("one")?.status, ready("two")?.status]).toEqual(["True", "True"]);
    const { requests } = world.server;
    const reads = ["networkpolicies", "persistentvolumeclaims"].flatMap((kind) =>
      ["list", "watch", "get"].map((verb) => requests.get(`${verb} ${kind}`) ?? 0),
    );
    // One watch that begins with what there is.
    expect(reads).toEqual([0, 1, 0, 0, 1, 0]);
    expect([...requests.keys()].filter((what) => what.startsWith("get "))).toEqual([]);
  });

  test("serves only its namespace when it has one (MANAGER-13)", async () => {
    world.runPods();
    start({ namespace: "mine" });
    await world.user.create(sandboxTemplates, bare(templateOf(), "test-template"));
    await world.user.create(sandboxWarmPools, bare(poolOf(), "pool"));
    await world.user.create(sandboxClaims, bare(claimOf(), "theirs"));
    await world.user.create(sandboxClaims, { ...claimOf(), metadata: { name: "ours", namespace: "mine" } });
    await world.clock.advance(30_000);
    const ours = world.server.read(sandboxClaims, { namespace: "mine", name: "ours" });
    expect([claimed("theirs")?.status, ours?.status?.conditions?.[0]?.reason]).toEqual([undefined, "WarmPoolNotFound"]);
  });
});

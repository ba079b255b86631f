import { sandboxClaims, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf, poolOf, templateOf } from "../extensions.test.support.ts";
import { startSandboxController } from "../sandbox/controller.ts";
import { startWarmPoolController } from "../warm-pool/controller.ts";
import { World } from "../world.test.support.ts";
import { startClaimController } from "./controller.ts";

const bare = <T extends { metadata: object }>(object: T, name: string): T => ({
  ...object,
  metadata: { name, namespace: "default" },
});

describe("the SandboxClaim controller with its neighbours", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
    world.runPods();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const start = (options = {}) => {
    world.start(startSandboxController({ ...world.context, now: () => world.clock.date() }));
    world.start(startWarmPoolController(world.context));
    return world.start(startClaimController({ ...world.context, ...options }));
  };
  const claimed = (name: string) => world.server.read(sandboxClaims, { namespace: "default", name });
  const ready = (name: string) => claimed(name)?.status?.conditions?.find(({ type }) => type === "Ready");

  test("hands out a member of the pool", async () => {
    start();
    await world.user.create(sandboxTemplates, bare(templateOf(), "test-template"));
    await world.user.create(sandboxWarmPools, bare(poolOf(), "pool"));
    await world.clock.advance(30_000);
    await world.user.create(sandboxClaims, bare(claimOf(), "my-claim"));
    await world.clock.advance(10_000);
    expect(ready("my-claim")).toMatchObject({ status: "True" });
  });

  test("leaves other namespaces alone when it is given one", async () => {
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

import { type Sandbox, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { poolOf, templateOf } from "../extensions.test.support.ts";
import { placeOf } from "../guard.ts";
import { startWarmPoolController } from "./controller.ts";
import { PoolWorld, poolKey } from "./pool-world.test.support.ts";

describe("the SandboxWarmPool controller", () => {
  let world: PoolWorld;
  beforeEach(() => {
    world = new PoolWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("fills a pool, reports it full, and then writes nothing for hours (POOL-1, COST-5)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    expect(world.members()).toHaveLength(3);
    for (const member of world.members()) await world.setReady(member);
    await world.clock.advance(1);
    expect(world.server.read(sandboxWarmPools, poolKey)?.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
    const before = world.writes();
    await world.clock.advance(11 * 3_600_000);
    expect(world.writes()).toEqual(before);
  });

  test("writes nothing for settled pools after a restart (COST-5)", async () => {
    const first = world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    for (const member of world.members()) await world.setReady(member);
    await world.settled();
    await first.stop();
    const before = world.writes();
    world.startPools();
    await world.settled();
    expect(world.writes()).toEqual(before);
  });

  test("creates exactly the missing members although its watch does not show them yet (POOL-20)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    world.startPools();
    await world.template();
    await world.createPool({ replicas: 5 });
    for (let pass = 0; pass < 5; pass++) {
      await world.user.patch(sandboxWarmPools, poolKey, {
        type: "merge",
        body: { metadata: { annotations: { pass: `${pass}` } } },
      });
      await world.clock.advance(500);
    }
    await world.settled();
    expect([world.created, world.members().length]).toEqual([5, 5]);
  });

  test("creates exactly the missing members on eight triggers at once (POOL-21)", async () => {
    const controller = world.startPools();
    await world.template();
    await world.createPool({ replicas: 5 });
    await controller.ready;
    for (let wake = 0; wake < 8; wake++) controller.enqueue("default/pool");
    await world.settled();
    expect(world.created).toBe(5);
  });

  test("deletes the members of a deleted pool and keeps claimed Sandboxes (POOL-24)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    const [taken] = world.members();
    const claim = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    await world.takeBy(taken as Sandbox, claim.metadata.uid ?? "");
    await world.clock.advance(100);
    await world.user.delete(sandboxWarmPools, poolKey);
    await world.settled();
    expect(world.server.readAll(sandboxes).map(({ metadata }) => metadata.name)).toEqual([taken?.metadata.name]);
  });

  test("adopts what an earlier pool of its name left, with one write each, and creates the rest (POOL-4)", async () => {
    const first = world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    await first.stop();
    for (const member of world.members()) {
      const body = { metadata: { ownerReferences: null, labels: { "agents.x-k8s.io/launch-type": null } } };
      await world.user.patch(sandboxes, placeOf(member), { type: "merge", body });
    }
    await world.user.delete(sandboxWarmPools, poolKey);
    await world.user.delete(sandboxes, placeOf(world.server.readAll(sandboxes)[0] as Sandbox));
    const left = world.server.readAll(sandboxes).map(({ metadata }) => metadata.uid);
    const before = world.writes();
    world.startPools();
    const { metadata } = await world.createPool();
    await world.settled();
    expect(world.members().map((member) => member.metadata.uid)).toEqual(expect.arrayContaining(left));
    expect(world.members().map((member) => member.metadata.labels?.["agents.x-k8s.io/launch-type"])).toEqual(
      Array(3).fill("warm"),
    );
    expect(world.members()[0]?.metadata.ownerReferences).toMatchObject([
      { uid: metadata.uid, blockOwnerDeletion: true },
    ]);
    const wrote = (what: string): number => (world.writes()[what] ?? 0) - (before[what] ?? 0);
    expect([wrote("patch sandboxes"), wrote("create sandboxes")]).toEqual([2, 1]);
  });

  test("restores a removed launch type label (POOL-48)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    const [member] = world.members();
    const body = { metadata: { labels: { "agents.x-k8s.io/launch-type": null } } };
    await world.user.patch(sandboxes, placeOf(member as Sandbox), { type: "merge", body });
    await world.settled();
    expect(world.members().map(({ metadata }) => metadata.labels?.["agents.x-k8s.io/launch-type"])).toEqual(
      Array(3).fill("warm"),
    );
    expect(world.created).toBe(3);
  });

  test("counts members without a status and replaces them after the grace (POOL-14)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.clock.advance(60_000);
    expect(world.server.read(sandboxWarmPools, poolKey)?.status).toMatchObject({ replicas: 3, readyReplicas: 0 });
    const first = world.members().map(({ metadata }) => metadata.uid);
    await world.clock.advance(5 * 60_000);
    expect(world.members()).toHaveLength(3);
    expect(world.members().filter(({ metadata }) => first.includes(metadata.uid))).toEqual([]);
  });

  test("replaces the members only of the pool whose template changed (POOL-31)", async () => {
    world.startPools();
    await world.template();
    await world.user.create(sandboxTemplates, templateOf({}, { name: "other", uid: "", resourceVersion: "" }));
    const updateStrategy = { type: "Recreate" } as const;
    await world.createPool({ updateStrategy });
    await world.createPool({ updateStrategy, sandboxTemplateRef: { name: "other" } }, "second");
    await world.settled();
    const second = { namespace: "default", name: "second" };
    const [old, kept] = [world.members(), world.members(second)];
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await world.settled();
    expect(world.members().filter(({ metadata }) => old.some((one) => one.metadata.uid === metadata.uid))).toEqual([]);
    expect([world.members().length, world.members(second)]).toEqual([3, kept]);
  });

  test("replaces all members with Recreate and never exceeds the size (POOL-25)", async () => {
    let most = 0;
    world.server.onChange(() => (most = Math.max(most, world.members().length)));
    world.startPools();
    await world.template();
    await world.createPool({ updateStrategy: { type: "Recreate" } });
    await world.settled();
    const old = world.members().map(({ metadata }) => metadata.uid);
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await world.settled();
    expect(world.members().map(({ spec }) => spec.podTemplate.spec.containers[0]?.image)).toEqual(
      Array(3).fill("newer"),
    );
    expect(world.members().filter(({ metadata }) => old.includes(metadata.uid))).toEqual([]);
    expect(most).toBe(3);
  });

  test("triggers only the pools of the namespace that refer to a changed template (POOL-34)", async () => {
    let passes = 0;
    world.start(startWarmPoolController({ ...world.context, metrics: { reconciled: () => (passes += 1) } }));
    await world.createPool({}, "pool");
    await world.createPool({ sandboxTemplateRef: { name: "other" } }, "unrelated");
    const body = { ...poolOf(), metadata: { name: "pool", namespace: "elsewhere" } };
    await world.user.create(sandboxWarmPools, body);
    await world.settled();
    expect(passes).toBe(3);
    // Its creates are refused, so that it is the template alone that wakes.
    world.server.onRequest = ({ resource }) =>
      resource.plural === "sandboxes" ? { refuse: { reason: "Invalid" } } : undefined;
    await world.template();
    await world.clock.advance(1);
    expect(passes).toBe(4);
    world.server.onRequest = undefined;
    await world.settled();
    expect([world.members().length, world.server.readAll(sandboxes).length]).toEqual([3, 3]);
  });

  test("reports that creates fail, and fills the pool later (POOL-49)", async () => {
    let full = true;
    world.server.onRequest = ({ verb, resource }) =>
      full && verb === "create" && resource.plural === "sandboxes"
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    world.startPools();
    await world.template();
    await world.createPool();
    await world.clock.advance(1_000);
    const ready = () =>
      world.server.read(sandboxWarmPools, poolKey)?.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready()).toMatchObject({ status: "False", reason: "ReconcilerError" });
    full = false;
    await world.settled();
    expect(world.members()).toHaveLength(3);
  });
});

import { type Sandbox, type SandboxWarmPool, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { isControlledBy } from "@agent-sandbox/kube";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf, poolOf, readyStatus, templateOf } from "../extensions.test.support.ts";
import { placeOf } from "../guard.ts";
import { World } from "../world.test.support.ts";
import { startWarmPoolController } from "./controller.ts";

const { uid: _u, resourceVersion: _r, ...named } = poolOf().metadata;
const key = { namespace: "default", name: "pool" };

describe("the SandboxWarmPool controller", () => {
  let world: World;
  beforeEach(() => (world = new World()));
  afterEach(async () => await world[Symbol.asyncDispose]());

  const start = (settings = {}) => world.start(startWarmPoolController({ ...world.context, settings }));
  const template = () => world.user.create(sandboxTemplates, templateOf());
  const createPool = (spec: Partial<SandboxWarmPool["spec"]> = {}, name = "pool") =>
    world.user.create(sandboxWarmPools, { ...poolOf(spec), metadata: { ...named, name } });
  const settled = () => world.clock.advance(30_000);
  const members = (pool = key) => {
    const owner = world.server.read(sandboxWarmPools, pool);
    return world.server.readAll(sandboxes).filter((sandbox) => owner && isControlledBy(sandbox, owner));
  };
  const scale = (replicas: number) =>
    world.user.patch(sandboxWarmPools, key, { type: "merge", body: { spec: { replicas } } });
  const setReady = (sandbox: Sandbox) =>
    world.user.patch(
      sandboxes,
      { namespace: "default", name: sandbox.metadata.name ?? "" },
      { type: "merge", body: { status: readyStatus } },
      { subresource: "status" },
    );
  const takeBy = (sandbox: Sandbox, uid: string) => {
    const owner = { ...claimOf(), apiVersion: "extensions.agents.x-k8s.io/v1beta1", uid, name: "c", controller: true };
    const { apiVersion, kind, name, controller } = owner;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller }];
    return world.user.patch(
      sandboxes,
      { namespace: "default", name: sandbox.metadata.name ?? "" },
      { type: "merge", body: { metadata: { ownerReferences, labels: { "agents.x-k8s.io/warm-pool-sandbox": null } } } },
    );
  };
  const created = () => world.server.writes.get("create sandboxes");

  test("fills a pool, reports it full, and then writes nothing for hours (POOL-1, COST-5)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    expect(members()).toHaveLength(3);
    for (const member of members()) await setReady(member);
    await world.clock.advance(1);
    expect(world.server.read(sandboxWarmPools, key)?.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
    const before = world.writes();
    await world.clock.advance(11 * 3_600_000);
    expect(world.writes()).toEqual(before);
  });

  test("writes nothing for settled pools after a restart (COST-5)", async () => {
    const first = start();
    await template();
    await createPool();
    await settled();
    for (const member of members()) await setReady(member);
    await settled();
    await first.stop();
    const before = world.writes();
    start();
    await settled();
    expect(world.writes()).toEqual(before);
  });

  test("creates exactly the missing members although its watch does not show them yet (POOL-20)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    start();
    await template();
    await createPool({ replicas: 5 });
    for (let pass = 0; pass < 5; pass++) {
      await world.user.patch(sandboxWarmPools, key, {
        type: "merge",
        body: { metadata: { annotations: { pass: `${pass}` } } },
      });
      await world.clock.advance(500);
    }
    await settled();
    expect([created(), members().length]).toEqual([5, 5]);
  });

  test("creates exactly the missing members on eight triggers at once (POOL-21)", async () => {
    const controller = start();
    await template();
    await createPool({ replicas: 5 });
    await controller.ready;
    for (let wake = 0; wake < 8; wake++) controller.enqueue("default/pool");
    await settled();
    expect(created()).toBe(5);
  });

  test("continues at once when a member to delete is already gone (POOL-22)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    const [newest] = members().slice(-1);
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 3_000 : 0);
    await world.user.delete(sandboxes, { namespace: "default", name: newest?.metadata.name ?? "" });
    await scale(2);
    await world.clock.advance(100);
    await scale(4);
    await world.clock.advance(3_000);
    expect(members()).toHaveLength(4);
  });

  test("deletes the members of a deleted pool and keeps claimed Sandboxes (POOL-24)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    const [taken] = members();
    const claim = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    await takeBy(taken as Sandbox, claim.metadata.uid ?? "");
    await world.clock.advance(100);
    await world.user.delete(sandboxWarmPools, key);
    await settled();
    expect(world.server.readAll(sandboxes).map(({ metadata }) => metadata.name)).toEqual([taken?.metadata.name]);
  });

  test("adopts what an earlier pool of its name left, with one write each, and creates the rest (POOL-4)", async () => {
    const first = start();
    await template();
    await createPool();
    await settled();
    await first.stop();
    for (const member of members()) {
      const body = { metadata: { ownerReferences: null, labels: { "agents.x-k8s.io/launch-type": null } } };
      await world.user.patch(sandboxes, placeOf(member), { type: "merge", body });
    }
    await world.user.delete(sandboxWarmPools, key);
    await world.user.delete(sandboxes, placeOf(world.server.readAll(sandboxes)[0] as Sandbox));
    const left = world.server.readAll(sandboxes).map(({ metadata }) => metadata.uid);
    const before = world.writes();
    start();
    const { metadata } = await createPool();
    await settled();
    expect(members().map((member) => member.metadata.uid)).toEqual(expect.arrayContaining(left));
    expect(members().map((member) => member.metadata.labels?.["agents.x-k8s.io/launch-type"])).toEqual(
      Array(3).fill("warm"),
    );
    expect(members()[0]?.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, blockOwnerDeletion: true }]);
    const wrote = (what: string): number => (world.writes()[what] ?? 0) - (before[what] ?? 0);
    expect([wrote("patch sandboxes"), wrote("create sandboxes")]).toEqual([2, 1]);
  });

  test("does not adopt a Sandbox that was taken over in the meantime (POOL-8)", async () => {
    const first = start();
    await template();
    await createPool();
    await settled();
    await first.stop();
    const [orphan] = members();
    const place = placeOf(orphan as Sandbox);
    await world.user.patch(sandboxes, place, { type: "merge", body: { metadata: { ownerReferences: null } } });
    const holder = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    let hasRaced = false;
    world.server.onRequest = ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "sandboxes" || hasRaced) return undefined;
      hasRaced = true;
      void takeBy(orphan as Sandbox, holder.metadata.uid ?? "");
      return { delayMs: 10 };
    };
    start();
    await settled();
    expect(hasRaced).toBe(true);
    expect(world.server.read(sandboxes, place)?.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim" }]);
    expect(members()).toHaveLength(3);
  });

  test("restores a removed launch type label (POOL-48)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    const [member] = members();
    const body = { metadata: { labels: { "agents.x-k8s.io/launch-type": null } } };
    await world.user.patch(sandboxes, placeOf(member as Sandbox), { type: "merge", body });
    await settled();
    expect(members().map(({ metadata }) => metadata.labels?.["agents.x-k8s.io/launch-type"])).toEqual(
      Array(3).fill("warm"),
    );
    expect(created()).toBe(3);
  });

  test("counts members without a status and replaces them after the grace (POOL-14)", async () => {
    start();
    await template();
    await createPool();
    await world.clock.advance(60_000);
    expect(world.server.read(sandboxWarmPools, key)?.status).toMatchObject({ replicas: 3, readyReplicas: 0 });
    const first = members().map(({ metadata }) => metadata.uid);
    await world.clock.advance(5 * 60_000);
    expect(members()).toHaveLength(3);
    expect(members().filter(({ metadata }) => first.includes(metadata.uid))).toEqual([]);
  });

  test("replaces the members only of the pool whose template changed (POOL-31)", async () => {
    start();
    await template();
    await world.user.create(sandboxTemplates, templateOf({}, { name: "other", uid: "", resourceVersion: "" }));
    const updateStrategy = { type: "Recreate" } as const;
    await createPool({ updateStrategy });
    await createPool({ updateStrategy, sandboxTemplateRef: { name: "other" } }, "second");
    await settled();
    const second = { namespace: "default", name: "second" };
    const [old, kept] = [members(), members(second)];
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await settled();
    expect(members().filter(({ metadata }) => old.some((one) => one.metadata.uid === metadata.uid))).toEqual([]);
    expect([members().length, members(second)]).toEqual([3, kept]);
  });

  test("never deletes a member that was just claimed, and continues at once (POOL-47)", async () => {
    start();
    await template();
    await createPool({ replicas: 2 });
    await settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 20_000 : 0);
    const holder = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    const taken = members();
    for (const member of taken) await takeBy(member, holder.metadata.uid ?? "");
    await scale(0);
    await world.clock.advance(2_000);
    expect(world.server.readAll(sandboxes)).toHaveLength(2);
    await scale(2);
    await world.clock.runUntil(() => members().length === 2, { withinMs: 5_000 });
    expect(world.server.readAll(sandboxes)).toHaveLength(4);
  });

  test("replaces all members with Recreate and never exceeds the size (POOL-25)", async () => {
    let most = 0;
    world.server.onChange(() => (most = Math.max(most, members().length)));
    start();
    await template();
    await createPool({ updateStrategy: { type: "Recreate" } });
    await settled();
    const old = members().map(({ metadata }) => metadata.uid);
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await settled();
    expect(members().map(({ spec }) => spec.podTemplate.spec.containers[0]?.image)).toEqual(Array(3).fill("newer"));
    expect(members().filter(({ metadata }) => old.includes(metadata.uid))).toEqual([]);
    expect(most).toBe(3);
  });

  test("triggers only the pools of the namespace that refer to a changed template (POOL-34)", async () => {
    let passes = 0;
    world.start(startWarmPoolController({ ...world.context, metrics: { reconciled: () => (passes += 1) } }));
    await createPool({}, "pool");
    await createPool({ sandboxTemplateRef: { name: "other" } }, "unrelated");
    const body = { ...poolOf(), metadata: { name: "pool", namespace: "elsewhere" } };
    await world.user.create(sandboxWarmPools, body);
    await settled();
    expect(passes).toBe(3);
    // Its creates are refused, so that it is the template alone that wakes.
    world.server.onRequest = ({ resource }) =>
      resource.plural === "sandboxes" ? { refuse: { reason: "Invalid" } } : undefined;
    await template();
    await world.clock.advance(1);
    expect(passes).toBe(4);
    world.server.onRequest = undefined;
    await settled();
    expect([members().length, world.server.readAll(sandboxes).length]).toEqual([3, 3]);
  });

  test("creates only the difference when scaled up before its creates are visible (POOL-35)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 800 : 0);
    start();
    await template();
    await createPool({ replicas: 2 });
    await world.clock.advance(100);
    await scale(4);
    await settled();
    expect(created()).toBe(4);
  });

  test("repeats only the creates that failed (POOL-36)", async () => {
    let refused = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && refused++ < 2
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    start();
    await template();
    await createPool();
    await settled();
    expect([created(), members().length]).toEqual([3, 3]);
  });

  test("repeats failed creates without the replenish delay (POOL-36)", async () => {
    let refused = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && refused++ === 1
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    start({ replenishDelayMs: 600_000 });
    await template();
    await createPool();
    await settled();
    expect(members()).toHaveLength(3);
  });

  test("does not repeat a create whose response was lost (POOL-37)", async () => {
    let lost = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && lost++ === 1 ? { reset: "after" } : undefined;
    start();
    await template();
    await createPool();
    await settled();
    expect([created(), members().length]).toEqual([3, 3]);
  });

  test("creates no replacement before it observes its own delete (POOL-38)", async () => {
    let most = 0;
    world.server.onChange(() => (most = Math.max(most, members().length)));
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 900 : 0);
    start();
    await template();
    await createPool({ updateStrategy: { type: "Recreate" } });
    await settled();
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await settled();
    expect([most, members().length, created()]).toEqual([3, 3, 6]);
  });

  test("continues within seconds when a watch stands still for ten minutes (POOL-39)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 600_000 : 0);
    await scale(5);
    await world.clock.advance(5_000);
    await scale(7);
    await world.clock.advance(5_000);
    expect([created(), members().length]).toEqual([7, 7]);
  });

  test("does not delay a pool while another waits for its own writes (POOL-40)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 60_000 : 0);
    start();
    await template();
    await createPool({}, "pool");
    await world.clock.advance(100);
    await createPool({}, "second");
    await world.clock.advance(100);
    expect(members({ namespace: "default", name: "second" })).toHaveLength(3);
  });

  test("ignores Sandboxes that others create and delete (POOL-41)", async () => {
    start();
    await template();
    await createPool();
    await settled();
    const before = created() ?? 0;
    const { apiVersion, kind, spec } = members()[0] as Sandbox;
    const labels = members()[0]?.metadata.labels ?? {};
    const holder = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    const reference = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "holder", uid: holder.metadata.uid ?? "" };
    const others: Sandbox["metadata"][] = [
      { name: "bare" },
      { name: "orphan-of-another", labels: { ...labels, "agents.x-k8s.io/warm-pool-sandbox": "0" } },
      { name: "of-another-kind", labels, ownerReferences: [{ ...reference, controller: true }] },
    ];
    for (const metadata of others) {
      const made = await world.user.create(sandboxes, {
        apiVersion,
        kind,
        metadata: { ...metadata, namespace: "default" },
        spec,
      });
      await world.clock.advance(100);
      await world.user.delete(sandboxes, placeOf(made));
    }
    await settled();
    expect([members().length, (created() ?? 0) - before]).toEqual([3, 3]);
  });

  test("loses none of its create rate while it waits for its own writes (POOL-45)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 900 : 0);
    start({ maxPerSecond: 2 });
    await template();
    await createPool({ replicas: 5 });
    await world.clock.advance(850);
    expect(created()).toBe(2);
    await world.clock.advance(1_000);
    expect(created()).toBe(5);
  });

  test("reports that creates fail, and fills the pool later (POOL-49)", async () => {
    let full = true;
    world.server.onRequest = ({ verb, resource }) =>
      full && verb === "create" && resource.plural === "sandboxes"
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    start();
    await template();
    await createPool();
    await world.clock.advance(1_000);
    const ready = () =>
      world.server.read(sandboxWarmPools, key)?.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready()).toMatchObject({ status: "False", reason: "ReconcilerError" });
    full = false;
    await settled();
    expect(members()).toHaveLength(3);
  });
});

import { type Sandbox, sandboxes, sandboxTemplates } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { templateOf } from "../extensions.test.support.ts";
import { placeOf } from "../guard.ts";
import { PoolWorld } from "./pool-world.test.support.ts";

describe("concurrent writes to a pool and its members", () => {
  let world: PoolWorld;
  beforeEach(() => {
    world = new PoolWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("continues at once when a member to delete is already gone (POOL-22)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    const [newest] = world.members().slice(-1);
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 3_000 : 0);
    await world.user.delete(sandboxes, { namespace: "default", name: newest?.metadata.name ?? "" });
    await world.scale(2);
    await world.clock.advance(100);
    await world.scale(4);
    await world.clock.advance(3_000);
    expect(world.members()).toHaveLength(4);
  });

  test("does not adopt a Sandbox that was taken over in the meantime (POOL-8)", async () => {
    const first = world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    await first.stop();
    const [orphan] = world.members();
    const place = placeOf(orphan as Sandbox);
    await world.user.patch(sandboxes, place, { type: "merge", body: { metadata: { ownerReferences: null } } });
    const holder = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    let hasRaced = false;
    world.server.onRequest = ({ verb, resource }) => {
      if (verb !== "patch" || resource.plural !== "sandboxes" || hasRaced) return undefined;
      hasRaced = true;
      void world.takeBy(orphan as Sandbox, holder.metadata.uid ?? "");
      return { delayMs: 10 };
    };
    world.startPools();
    await world.settled();
    expect(hasRaced).toBe(true);
    expect(world.server.read(sandboxes, place)?.metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim" }]);
    expect(world.members()).toHaveLength(3);
  });

  test("never deletes a member that was just claimed, and continues at once (POOL-47)", async () => {
    world.startPools();
    await world.template();
    await world.createPool({ replicas: 2 });
    await world.settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 20_000 : 0);
    const holder = await world.user.create(sandboxTemplates, templateOf({}, { name: "holder" }));
    const taken = world.members();
    for (const member of taken) await world.takeBy(member, holder.metadata.uid ?? "");
    await world.scale(0);
    await world.clock.advance(2_000);
    expect(world.server.readAll(sandboxes)).toHaveLength(2);
    await world.scale(2);
    await world.clock.runUntil(() => world.members().length === 2, { withinMs: 5_000 });
    expect(world.server.readAll(sandboxes)).toHaveLength(4);
  });

  test("creates only the difference when scaled up before its creates are visible (POOL-35)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 800 : 0);
    world.startPools();
    await world.template();
    await world.createPool({ replicas: 2 });
    await world.clock.advance(100);
    await world.scale(4);
    await world.settled();
    expect(world.created).toBe(4);
  });

  test("repeats only the creates that failed (POOL-36)", async () => {
    let refused = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && refused++ < 2
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    expect([world.created, world.members().length]).toEqual([3, 3]);
  });

  test("repeats failed creates without the replenish delay (POOL-36)", async () => {
    let refused = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && refused++ === 1
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    world.startPools({ replenishDelayMs: 600_000 });
    await world.template();
    await world.createPool();
    await world.settled();
    expect(world.members()).toHaveLength(3);
  });

  test("does not repeat a create whose response was lost (POOL-37)", async () => {
    let lost = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && lost++ === 1 ? { reset: "after" } : undefined;
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    expect([world.created, world.members().length]).toEqual([3, 3]);
  });

  test("creates no replacement before it observes its own delete (POOL-38)", async () => {
    let most = 0;
    world.server.onChange(() => (most = Math.max(most, world.members().length)));
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 900 : 0);
    world.startPools();
    await world.template();
    await world.createPool({ updateStrategy: { type: "Recreate" } });
    await world.settled();
    const body = { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } } };
    await world.user.patch(sandboxTemplates, { namespace: "default", name: "test-template" }, { type: "merge", body });
    await world.settled();
    expect([most, world.members().length, world.created]).toEqual([3, 3, 6]);
  });

  test("continues within seconds when a watch stands still for ten minutes (POOL-39)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 600_000 : 0);
    await world.scale(5);
    await world.clock.advance(5_000);
    await world.scale(7);
    await world.clock.advance(5_000);
    expect([world.created, world.members().length]).toEqual([7, 7]);
  });

  test("does not delay a pool while another waits for its own writes (POOL-40)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 60_000 : 0);
    world.startPools();
    await world.template();
    await world.createPool({}, "pool");
    await world.clock.advance(100);
    await world.createPool({}, "second");
    await world.clock.advance(100);
    expect(world.members({ namespace: "default", name: "second" })).toHaveLength(3);
  });

  test("ignores Sandboxes that others create and delete (POOL-41)", async () => {
    world.startPools();
    await world.template();
    await world.createPool();
    await world.settled();
    const before = world.created ?? 0;
    const { apiVersion, kind, spec } = world.members()[0] as Sandbox;
    const labels = world.members()[0]?.metadata.labels ?? {};
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
    await world.settled();
    expect([world.members().length, (world.created ?? 0) - before]).toEqual([3, 3]);
  });

  test("loses none of its create rate while it waits for its own writes (POOL-45)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 900 : 0);
    world.startPools({ maxPerSecond: 2 });
    await world.template();
    await world.createPool({ replicas: 5 });
    await world.clock.advance(850);
    expect(world.created).toBe(2);
    await world.clock.advance(1_000);
    expect(world.created).toBe(5);
  });
});

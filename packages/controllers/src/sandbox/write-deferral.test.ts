import type { Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { newPod, podTemplate, SandboxWorld, type WorldOptions } from "./sandbox-world.test.support.ts";

const labels = (value: string) => ({ spec: podTemplate({ labels: { team: value } }) });
const withoutTimes = (sandbox: Sandbox | undefined) =>
  sandbox?.status?.conditions?.map((condition) => ({ ...condition, lastTransitionTime: "" }));

async function running(options: WorldOptions): Promise<SandboxWorld> {
  const world = new SandboxWorld(options);
  await world.createRunning(labels("a"));
  return world;
}

describe("write deferral", () => {
  test("patches the Pod once and at once without a window (META-12)", async () => {
    await using world = await running({});
    const writes = await world.writesDuring(async () => {
      await world.edit(labels("b"));
      await world.clock.advance(0);
      expect(world.pod()?.metadata?.labels).toMatchObject({ team: "b" });
      await world.settle();
    });
    expect(writes).toEqual({ "patch sandboxes": 1, "patch pods": 1, "patch sandboxes/status": 1 });
  });

  test("delays the Pod patch by at most a second and the status not at all (META-13)", async () => {
    await using world = await running({ writeBehindMs: 3_600_000 });
    await using synchronous = await running({});
    for (const each of [world, synchronous]) {
      await each.edit(labels("b"));
      await each.clock.advance(900);
    }
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "a" });
    expect(withoutTimes(world.sandbox())).toEqual(withoutTimes(synchronous.sandbox()));
    await world.clock.advance(200);
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "b" });
  });

  test("does not extend the window for a second change (META-14)", async () => {
    await using world = await running({ writeBehindMs: 3_600_000 });
    await world.edit(labels("b"));
    await world.clock.advance(600);
    await world.edit(labels("c"));
    await world.clock.advance(300);
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "a" });
    await world.clock.advance(200);
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "c" });
  });

  test("writes one patch after the window, equal to the result without a window (META-15)", async () => {
    await using world = await running({ writeBehindMs: 500 });
    await using synchronous = await running({});
    const writes = await world.writesDuring(async () => {
      for (const value of ["b", "c", "d"]) await world.edit(labels(value));
      await world.settle(10_000);
    });
    await synchronous.edit(labels("d"));
    await synchronous.settle();
    expect(writes["patch pods"]).toBe(1);
    const { labels: found, annotations } = world.pod()?.metadata ?? {};
    expect({ labels: found, annotations }).toEqual({
      labels: synchronous.pod()?.metadata?.labels,
      annotations: synchronous.pod()?.metadata?.annotations,
    });
    await world.edit(labels("e"));
    await world.clock.advance(400);
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "d" });
  });

  test("starts the window again after a restart and writes one patch (META-16)", async () => {
    await using world = await running({ writeBehindMs: 1_000 });
    const writes = await world.writesDuring(async () => {
      await world.edit(labels("b"));
      await world.clock.advance(800);
      await world.restart();
      await world.clock.advance(800);
      expect(world.pod()?.metadata?.labels).toMatchObject({ team: "a" });
      await world.clock.advance(800);
    });
    expect(world.pod()?.metadata?.labels).toMatchObject({ team: "b" });
    expect(writes["patch pods"]).toBe(1);
  });

  test("does not delay adoption (META-17)", async () => {
    await using world = new SandboxWorld({ writeBehindMs: 1_000 });
    await world.user.create(pods, newPod({ labels: { "agents.x-k8s.io/adoptable": "true" } }));
    await world.create(labels("a"));
    await world.clock.advance(0);
    expect(world.pod()?.metadata).toMatchObject({ ownerReferences: [{ kind: "Sandbox" }], labels: { team: "a" } });
  });
});

import { sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { namespace, SandboxWorld } from "./sandbox-world.test.support.ts";

/** Both names come to 2011902b. */
const [one, other] = ["flow-green-cat-46", "data-fast-zone-29"] as const;
const shared = { status: "False", reason: "ReconcilerError", message: expect.stringContaining("same hash") as unknown };

describe("two Sandboxes whose names have the same hash", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const remove = (name: string) => world.user.delete(sandboxes, { namespace, name });

  test("does not create a Pod that the earlier Sandbox's Service would select, until that Sandbox is gone (SERVICE-15)", async () => {
    await world.createRunning({ name: one, spec: { service: true } });
    await world.settle(2_000);
    await world.create({ name: other });
    await world.settle();
    expect(world.pod(other)).toBeUndefined();
    expect(world.condition("Ready", other)).toMatchObject(shared);
    expect(world.condition("Ready", one)).toMatchObject({ status: "True" });
    await remove(one);
    await world.settle();
    expect(world.pod(other)).toBeDefined();
  });

  test("resumes the earlier Sandbox although the later one exists (SERVICE-15)", async () => {
    await world.createRunning({ name: one, spec: { service: true } });
    await world.settle(2_000);
    await world.create({ name: other, spec: { service: true } });
    await world.edit({ spec: { operatingMode: "Suspended" } }, one);
    await world.settle();
    expect(world.pod(one)).toBeUndefined();
    await world.edit({ spec: { operatingMode: "Running" } }, one);
    await world.settle();
    expect(world.pod(one)).toBeDefined();
    expect([world.pod(other), world.service(other)]).toEqual([undefined, undefined]);
  });

  test("does not create a Service that would select the other Sandbox's Pod (SERVICE-15)", async () => {
    await world.createRunning({ name: one });
    await world.createRunning({ name: other });
    expect([world.condition("Ready", one)?.status, world.condition("Ready", other)?.status]).toEqual(["True", "True"]);
    await world.edit({ spec: { service: true } }, one);
    await world.settle();
    expect(world.service(one)).toBeUndefined();
    expect(world.condition("Ready", one)).toMatchObject(shared);
    expect(world.condition("Ready", other)).toMatchObject({ status: "True" });
    await remove(other);
    await world.settle();
    expect(world.service(one)).toBeDefined();
    expect(world.condition("Ready", one)).toMatchObject({ status: "True" });
  });

  test("ignores Sandboxes of other namespaces and with other hashes (SERVICE-15)", async () => {
    await world.createRunning({ name: one, spec: { service: true } });
    await world.user.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: other, namespace: "elsewhere" },
      spec: { service: true, podTemplate: { spec: { containers: [{ name: "c", image: "host" }] } } },
    });
    await world.create({ name: "unlike", spec: { service: true } });
    await world.settle();
    const elsewhere = world.server.read(sandboxes, { namespace: "elsewhere", name: other });
    expect(elsewhere?.status?.service).toBe(other);
    expect(world.service("unlike")).toBeDefined();
  });
});

import { sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { name, namespace, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";

const minute = 60_000;
const hour = 60 * minute;
const idlePolicy = { suspendAfterSeconds: 600 };

describe("the idle policy", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const at = (offsetMs = 0): string => new Date(world.clock.date() + offsetMs).toISOString();
  const use = (when = at()) => world.edit({ metadata: { annotations: { "agents.x-k8s.io/last-activity": when } } });
  const suspended = () => world.condition("Suspended");

  test("suspends a Sandbox without activity and does not change its spec (SLEEP-8)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    await world.settle(9 * minute);
    expect(suspended()).toMatchObject({ status: "False", reason: "NotSuspended" });
    await world.settle(2 * minute);
    expect(suspended()).toMatchObject({ status: "True", reason: "Idle" });
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "SandboxSuspended" });
    expect(world.pod()).toBeUndefined();
    expect(world.sandbox()?.metadata.generation).toBe(1);
  });

  test("writes the condition before it deletes the Pod (SLEEP-9)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    const order: string[] = [];
    world.server.onChange(({ resource }) => order.push(resource.plural));
    await world.settle(11 * minute);
    expect(order).toEqual(["sandboxes", "pods", "sandboxes"]);
  });

  test("postpones the suspension on activity and shows the activity in the status (SLEEP-10)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    for (let round = 0; round < 5; round++) {
      await world.settle(8 * minute);
      await use();
    }
    await world.settle(8 * minute);
    expect(world.pod()).toBeDefined();
    expect(world.sandbox()?.status?.lastActivityTime).toBe(at(-8 * minute));
  });

  test("keeps running when activity arrives during the suspension (SLEEP-11)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    let hasRaced = false;
    world.server.onRequest = ({ verb, resource, subresource }) => {
      if (verb !== "patch" || resource.plural !== "sandboxes" || subresource !== "status" || hasRaced) return undefined;
      hasRaced = true;
      void use();
      return { delayMs: 5 };
    };
    await world.settle(11 * minute);
    expect(hasRaced).toBe(true);
    expect(world.server.requests.get("delete pods")).toBeUndefined();
    expect(suspended()).toMatchObject({ reason: "NotSuspended" });
  });

  test("resumes on later activity, also after a restart of the controller (SLEEP-12)", async () => {
    await world.createRunning({ spec: { idlePolicy }, annotations: { "agents.x-k8s.io/last-activity": at() } });
    await world.settle(11 * minute);
    expect(suspended()).toMatchObject({ status: "True", reason: "Idle" });
    await world.restart();
    await world.settle(hour);
    expect(world.pod()).toBeUndefined();
    await use();
    await world.settle();
    expect(world.pod()).toBeDefined();
    expect(suspended()).toMatchObject({ status: "False", reason: "NotSuspended" });
  });

  test("resumes on activity with an earlier time (SLEEP-12)", async () => {
    await world.createRunning({ spec: { idlePolicy }, annotations: { "agents.x-k8s.io/last-activity": at() } });
    await world.settle(11 * minute);
    await use(at(-hour));
    await world.settle();
    expect(world.pod()).toBeDefined();
  });

  test("resumes when the idle policy is removed, unless its user suspended it (SLEEP-13)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    await world.settle(11 * minute);
    await world.setMode("Suspended");
    await world.settle();
    expect(suspended()).toMatchObject({ status: "True", reason: "PodTerminated" });
    await world.edit({ spec: { operatingMode: "Running", idlePolicy: null } });
    await world.settle();
    expect(world.pod()).toBeDefined();
  });

  test("stays suspended when its spec is edited and when another Pod has its name (SLEEP-14)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    await world.settle(11 * minute);
    await world.edit({ spec: { service: true } });
    await world.user.create(pods, { metadata: { name, namespace }, spec: { containers: [] } });
    await world.settle();
    expect(suspended()).toMatchObject({ status: "True", reason: "Idle" });
    expect(world.service()).toBeDefined();
  });

  test("does not count the time that a Pod takes to start (SLEEP-15)", async () => {
    await world.create({ spec: { idlePolicy } });
    await world.settle(hour);
    expect(world.pod()).toBeDefined();
    await world.podReports(runningPod);
    await world.settle(9 * minute);
    expect(world.pod()).toBeDefined();
  });

  test.for([
    ["forwards", 10 * 365 * 24 * hour],
    ["back", -hour],
  ] as const)("suspends and deletes nothing early when the clock jumps %s (SLEEP-16)", async ([, jumpMs]) => {
    const policy = { suspendAfterSeconds: 600, deleteAfterSeconds: 3_600 };
    await world.createRunning({ spec: { idlePolicy: policy }, annotations: { "agents.x-k8s.io/last-activity": at() } });
    await world.settle(minute);
    world.clockErrorMs = jumpMs;
    await world.edit({ metadata: { labels: { look: "again" } } });
    await world.settle(8 * minute);
    expect(world.pod()).toBeDefined();
    await world.settle(2 * minute);
    expect(suspended()?.reason).toBe("Idle");
    await world.settle(40 * minute);
    expect(world.sandbox()).toBeDefined();
    await world.settle(20 * minute);
    expect(world.sandbox()).toBeUndefined();
  });

  test("counts idle time from the start again after a restart (SLEEP-16)", async () => {
    await world.createRunning({ spec: { idlePolicy } });
    await world.settle(9 * minute);
    await world.restart();
    await world.settle(9 * minute);
    expect(world.pod()).toBeDefined();
    await world.settle(2 * minute);
    expect(world.pod()).toBeUndefined();
  });

  test("deletes a Sandbox that is idle for deleteAfterSeconds, suspended or not (SLEEP-17)", async () => {
    await world.createRunning({ spec: { idlePolicy: { deleteAfterSeconds: 3_600 } } });
    await world.create({
      name: "asleep",
      spec: { idlePolicy: { deleteAfterSeconds: 3_600 }, operatingMode: "Suspended" },
    });
    await world.settle(59 * minute);
    expect(world.server.readAll(sandboxes)).toHaveLength(2);
    await world.settle(2 * minute);
    expect(world.server.readAll(sandboxes)).toEqual([]);
  });

  test("does not delete a Sandbox when activity arrives during the delete (SLEEP-18)", async () => {
    await world.createRunning({ spec: { idlePolicy: { deleteAfterSeconds: 3_600 } } });
    let hasRaced = false;
    world.server.onRequest = ({ verb, resource }) => {
      if (verb !== "delete" || resource.plural !== "sandboxes" || hasRaced) return undefined;
      hasRaced = true;
      void use();
      return { delayMs: 5 };
    };
    await world.settle(61 * minute);
    expect(hasRaced).toBe(true);
    expect(world.sandbox()?.metadata).not.toHaveProperty("deletionTimestamp");
    await world.settle(30 * minute);
    expect(world.sandbox()).toBeDefined();
  });

  test("never suspends a pool member, and counts idle time once it is claimed (SLEEP-19)", async () => {
    const owner = await world.create({ name: "owner", spec: { operatingMode: "Suspended" } });
    const reference = {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      name: "pool",
      uid: owner.metadata.uid ?? "",
      controller: true,
    };
    const policy = { suspendAfterSeconds: 600, deleteAfterSeconds: 3_600 };
    await world.createRunning({ spec: { idlePolicy: policy }, metadata: { ownerReferences: [reference] } });
    await world.settle(24 * hour);
    expect(world.pod()).toBeDefined();
    await world.edit({ metadata: { ownerReferences: [{ ...reference, kind: "SandboxClaim" }] } });
    await world.settle(9 * minute);
    expect(world.pod()).toBeDefined();
    await world.settle(2 * minute);
    expect(suspended()?.reason).toBe("Idle");
  });

  test.for([["yesterday"], [""], ["2026-13-01T00:00:00Z"], ["x".repeat(10_000)]])(
    "ignores a last-activity annotation that is not a time (SLEEP-20)",
    async ([written]) => {
      await world.createRunning({ spec: { idlePolicy } });
      await world.settle(9 * minute);
      await use(written);
      await world.settle(2 * minute);
      expect(world.sandbox()?.status).not.toHaveProperty("lastActivityTime");
      expect(suspended()?.reason).toBe("Idle");
    },
  );
});

import { type OwnerReference, type PodStatus, sandboxes } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { name, namespace, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";

// The phase is Pending from the start on a server that knows Pods; the one in memory does not.
const scheduled = { conditions: [{ type: "PodScheduled", status: "True" }] };

/** As nodes do it: first the Pod has a node, later it runs. */
async function start(world: SandboxWorld): Promise<void> {
  await world.settle();
  await world.podReports(scheduled);
  await world.settle();
  await world.podReports(runningPod);
  await world.settle();
}

/** To an owner that exists, or the member would be collected. */
async function poolReference(world: SandboxWorld): Promise<OwnerReference> {
  const { metadata } = await world.create({ name: "owner", spec: { operatingMode: "Suspended" } });
  await world.settle();
  const kind = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool" };
  return { ...kind, name: "pool", uid: metadata.uid ?? "", controller: true };
}

function total(attempts: Record<string, number>): number {
  return Object.values(attempts).reduce((sum, count) => sum + count, 0);
}

describe("writes per Sandbox", () => {
  test("starts with at most 4 writes (COST-1)", async () => {
    await using world = new SandboxWorld();
    const attempts = await world.attemptsDuring(async () => {
      await world.create();
      await start(world);
    });
    expect(world.condition("Ready")?.status).toBe("True");
    expect(attempts).toEqual({ "create pods": 1, "patch sandboxes": 1, "patch sandboxes/status": 2 });
  });

  test("starts a pool member with 2 writes, or 3 if it takes longer than ten seconds (COST-2)", async () => {
    await using world = new SandboxWorld();
    const reference = await poolReference(world);
    const started = (afterMs: number): Promise<Record<string, number>> =>
      world.attemptsDuring(async () => {
        await world.create({ metadata: { ownerReferences: [reference] } });
        await world.clock.advance(afterMs);
        await world.podReports(runningPod);
        await world.clock.advance(0);
        expect(world.condition("Ready")?.status).toBe("True");
        await world.settle();
      });
    expect(await started(10_000)).toEqual({ "create pods": 1, "patch sandboxes/status": 2 });
    await world.user.delete(sandboxes, { namespace, name });
    await world.user.delete(pods, { namespace, name });
    await world.settle();
    expect(await started(9_999)).toEqual({ "create pods": 1, "patch sandboxes/status": 1 });
  });

  test("reports within a second that a pool member has an address (COST-2)", async () => {
    await using world = new SandboxWorld();
    await world.create({ metadata: { ownerReferences: [await poolReference(world)] } });
    await world.clock.advance(100);
    await world.podReports({ phase: "Running", podIPs: [{ ip: "10.0.0.1" }] });
    await world.clock.advance(1_000);
    expect(world.sandbox()?.status?.podIPs).toEqual(["10.0.0.1"]);
  });

  test.for([
    ["cannot be scheduled", { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] }],
    ["has failed", { phase: "Failed" }],
  ] as const)("reports at once that the Pod of a pool member %s (COST-2)", async ([, status]) => {
    await using world = new SandboxWorld();
    const reference = await poolReference(world);
    await world.create({ metadata: { ownerReferences: [reference] } });
    await world.clock.advance(0);
    expect(world.condition("Ready")).toBeUndefined();
    await world.podReports(status as PodStatus);
    await world.clock.advance(0);
    expect(world.condition("Ready")?.status).toBe("False");
  });

  test("takes one more write each for a volume claim and a Service (COST-1)", async () => {
    await using world = new SandboxWorld();
    const attempts = await world.attemptsDuring(async () => {
      await world.create({ spec: { service: true, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } });
      await start(world);
    });
    expect(attempts).toMatchObject({ "create persistentvolumeclaims": 1, "create services": 1 });
    expect(total(attempts)).toBe(6);
  });

  test("suspends with at most 3 writes, by its user or when idle, and resumes with 3 (COST-3)", async () => {
    await using world = new SandboxWorld({ gracefulPods: true });
    await world.create();
    await start(world);
    const suspend = await world.attemptsDuring(async () => {
      await world.setMode("Suspended");
      await world.settle();
      await world.finishPod();
      await world.settle();
    });
    expect(world.condition("Suspended")?.status).toBe("True");
    expect(suspend).toEqual({ "delete pods": 1, "patch sandboxes/status": 2 });
    const resume = await world.attemptsDuring(async () => {
      await world.setMode("Running");
      await start(world);
    });
    expect(resume).toEqual({ "create pods": 1, "patch sandboxes/status": 2 });
    await world.edit({ spec: { idlePolicy: { suspendAfterSeconds: 600 } } });
    await world.settle(590_000);
    const idle = await world.attemptsDuring(async () => {
      await world.settle(20_000);
      await world.finishPod();
      await world.settle();
    });
    expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "Idle" });
    expect(idle).toEqual({ "delete pods": 1, "patch sandboxes/status": 2 });
  });

  test("replaces a lost Pod with 3 writes and keeps the pod-name annotation (COST-4)", async () => {
    await using world = new SandboxWorld();
    await world.create();
    await start(world);
    const attempts = await world.attemptsDuring(async () => {
      await world.user.delete(pods, { namespace, name });
      await start(world);
    });
    expect(attempts).toEqual({ "create pods": 1, "patch sandboxes/status": 2 });
  });

  test("writes nothing for settled Sandboxes, also when the controller restarts (COST-5)", async () => {
    await using world = new SandboxWorld({ keepRootFilesystem: true });
    const idlePolicy = { suspendAfterSeconds: 2_000_000 };
    for (let index = 0; index < 20; index++) {
      const spec = {
        service: index % 2 === 0,
        idlePolicy,
        volumeClaimTemplates: [{ metadata: { name: "d" }, spec: {} }],
      };
      await world.createRunning({ name: `s-${index}`, spec });
    }
    await world.create({ name: "asleep", spec: { operatingMode: "Suspended" } });
    await world.create({ name: "over", spec: { shutdownTime: "2020-01-01T00:00:00Z" } });
    await world.create({ name: "wrong", spec: { service: true, volumeClaimTemplates: [{ spec: {} }] } });
    await world.settle();
    const settled = await world.attemptsDuring(async () => {
      await world.settle(24 * 3_600_000);
      await world.restart();
      await world.settle(24 * 3_600_000);
    });
    expect(settled).toEqual({});
  });
});

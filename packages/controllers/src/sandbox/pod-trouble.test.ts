import type { ContainerStatus, PodStatus } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";

const scheduled = { type: "PodScheduled", status: "True" } as const;
const reports = (phase: string, container: Partial<ContainerStatus>): PodStatus => ({
  phase,
  conditions: [scheduled, { type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  containerStatuses: [{ name: "c", image: "x", ready: false, ...container } as ContainerStatus],
});
const waiting = (reason: string, message?: string): PodStatus =>
  reports("Pending", { state: { waiting: { reason, ...(message && { message }) } } });
const lastState = { terminated: { exitCode: 3, reason: "Error" } };
const crashed = reports("Running", {
  state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s" } },
  lastState,
});
const restarted = reports("Running", { state: { running: { startedAt: "2026-01-01T00:00:09Z" } }, lastState });

async function withPod(world: SandboxWorld, status: PodStatus): Promise<void> {
  await world.create();
  await world.settle();
  await world.podReports(status);
  await world.settle();
}

describe("the Ready condition of a Sandbox whose Pod is in trouble", () => {
  test.for<[string, PodStatus, string]>([
    [
      "an image that cannot be pulled",
      waiting("ErrImagePull", "not found"),
      'Pod exists with phase: Pending; container "c": cannot pull image "x": not found',
    ],
    [
      "a crash loop",
      crashed,
      'Pod is Running but not Ready; container "c": exited with code 3 (Error) and is restarted',
    ],
    [
      "a Pod that does not fit",
      {
        phase: "Pending",
        conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" }],
      },
      "Pod exists with phase: Pending; cannot be scheduled: 0/1 nodes",
    ],
  ])("says %s, with one event (STATUS-16, STATUS-18)", async ([, status, message]) => {
    await using world = new SandboxWorld();
    await withPod(world, status);
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "DependenciesNotReady", message });
    expect(world.events).toMatchObject([
      { type: "Warning", reason: "PodNotReady", note: message.replace(/^[^;]*; /, ""), regarding: { kind: "Sandbox" } },
    ]);
  });

  test("follows what the reference says about the Service (STATUS-16)", async () => {
    await using world = new SandboxWorld();
    await world.create({ spec: { service: true } });
    await world.settle();
    await world.podReports(waiting("InvalidImageName", "bad"));
    await world.settle();
    expect(world.condition("Ready")?.message).toBe(
      'Pod exists with phase: Pending; Service Exists; container "c": cannot use image "x": bad',
    );
  });

  test("says how a Pod that is not replaced has failed; Finished does not (STATUS-16)", async () => {
    await using world = new SandboxWorld();
    await world.create({
      spec: { podTemplate: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } } },
    });
    await world.settle();
    await world.podReports(reports("Failed", { state: { terminated: { exitCode: 3, reason: "Error" } } }));
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({
      reason: "PodFailed",
      message: 'Pod failed; container "c": exited with code 3 (Error)',
    });
    expect(world.condition("Finished")?.message).toBe("Pod failed");
  });

  test.for<[string, PodStatus, PodStatus]>([
    [
      "ErrImagePull and ImagePullBackOff",
      waiting("ErrImagePull", "dial tcp 10.0.0.1:40312: timeout"),
      waiting("ImagePullBackOff", 'Back-off pulling image "x"'),
    ],
    ["CrashLoopBackOff and running", crashed, restarted],
  ])("is not written when the Pod alternates between %s (STATUS-17)", async ([, one, other]) => {
    await using world = new SandboxWorld();
    await withPod(world, one);
    const attempts = await world.attemptsDuring(async () => {
      for (let n = 0; n < 10; n += 1) {
        await world.podReports(n % 2 === 0 ? other : one);
        await world.settle();
      }
    });
    expect(attempts).toEqual({});
    expect(world.events).toHaveLength(1);
  });

  test("is written when the cause changes, and when the Pod is ready (STATUS-18)", async () => {
    await using world = new SandboxWorld();
    await withPod(world, waiting("ErrImagePull", "not found"));
    await world.podReports(waiting("ErrImagePull", "unauthorized"));
    await world.settle();
    expect(world.condition("Ready")?.message).toMatch(/unauthorized$/);
    await world.podReports({ ...runningPod, containerStatuses: [] });
    await world.settle(10_000);
    expect(world.condition("Ready")).toMatchObject({ status: "True", message: "Pod is Ready" });
    expect(world.events).toMatchObject([{ reason: "PodNotReady", series: { count: 2 } }]);
  });

  test("says nothing, and costs no write and no event, while a Pod starts (STATUS-18, COST-1)", async () => {
    await using world = new SandboxWorld();
    const readinessProbe = { tcpSocket: { port: 80 } };
    const attempts = await world.attemptsDuring(async () => {
      await world.create({
        spec: { podTemplate: { spec: { containers: [{ name: "c", image: "x", readinessProbe }] } } },
      });
      await world.settle();
      await world.podReports(waiting("ContainerCreating"));
      await world.settle();
      await world.podReports(reports("Running", { state: { running: {} } }));
      await world.settle();
      await world.podReports({ ...runningPod, containerStatuses: [] });
      await world.settle();
    });
    expect(world.condition("Ready")?.message).toBe("Pod is Ready");
    // One status for each phase that the reference reports as well.
    expect(attempts).toEqual({ "create pods": 1, "patch sandboxes": 1, "patch sandboxes/status": 4 });
    expect(world.events).toEqual([]);
  });

  test("names a readiness probe without an event (STATUS-18)", async () => {
    await using world = new SandboxWorld();
    const readinessProbe = { tcpSocket: { port: 80 } };
    await world.create({
      spec: { podTemplate: { spec: { containers: [{ name: "c", image: "x", readinessProbe }] } } },
    });
    await world.settle();
    await world.podReports(reports("Running", { state: { running: {} } }));
    await world.settle();
    expect(world.condition("Ready")?.message).toBe(
      'Pod is Running but not Ready; the readiness probe of container "c" has not succeeded',
    );
    expect(world.events).toEqual([]);
  });

  test("reports a Pod that is replaced with an event (STATUS-18)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning();
    await world.podReports({ phase: "Failed", reason: "Evicted", message: "low on\ndisk", conditions: [scheduled] });
    await world.clock.advance(0);
    expect(world.condition("Ready")).toMatchObject({
      reason: "PodReplacing",
      message: "Pod failed: Evicted: low on disk. A new Pod replaces it",
    });
    expect(world.events).toMatchObject([{ reason: "PodNotReady" }]);
  });

  test("a restarted controller repeats no event (STATUS-18)", async () => {
    await using world = new SandboxWorld();
    await withPod(world, waiting("ErrImagePull", "not found"));
    const attempts = await world.attemptsDuring(async () => {
      await world.restart();
      await world.settle(60_000);
    });
    expect(attempts).toEqual({});
    expect(world.events).toHaveLength(1);
  });
});

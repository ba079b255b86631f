import { type SandboxSnapshotStatus, sandboxSnapshots } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { name, namespace, SandboxWorld } from "./sandbox-world.test.support.ts";
import { driverAnnotations, StateDriver } from "./state-driver.test.support.ts";

const minute = 60_000;
const restoreFrom = { snapshotRef: { name: "golden" } };
const suspendPolicy = { depth: "Memory" } as const;
const lastTransitionTime = "2026-01-01T00:00:00Z";
const ready = { type: "Ready", status: "True", reason: "Complete", message: "", lastTransitionTime } as const;

describe("a Sandbox that is restored from a snapshot", () => {
  let world: SandboxWorld;
  let driver: StateDriver;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
    driver = new StateDriver(world);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** Creates a snapshot of memory that has been continued `lives` times. */
  async function take(snapshot: string, lives: number, status: SandboxSnapshotStatus = {}): Promise<string> {
    const place = { namespace, name: snapshot };
    const made = await world.user.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: place,
      spec: { sandboxRef: { name: "source" } },
    });
    const uid = made.metadata.uid ?? "";
    driver.snapshots.set(uid, { lives });
    await report(snapshot, { conditions: [ready], depth: "Memory", epoch: 3, ...status });
    return uid;
  }
  async function report(snapshot: string, status: SandboxSnapshotStatus): Promise<void> {
    const patch = { type: "merge", body: { status } } as const;
    await world.user.patch(sandboxSnapshots, { namespace, name: snapshot }, patch, { subresource: "status" });
  }
  const start = async (spec: object): Promise<void> => {
    await world.create({ spec });
    await world.settle(2_000);
  };
  const turn = async (mode: "Running" | "Suspended"): Promise<void> => {
    await world.setMode(mode);
    await world.settle(5_000);
  };
  const suspension = () => world.sandbox()?.status?.suspension;
  const lives = () => driver.running.get(world.pod()?.metadata?.uid ?? "")?.lives;

  test("starts as its fork, in an epoch of its own (STATE-21)", async () => {
    const uid = await take("golden", 10);
    await start({ restoreFrom });
    expect(driverAnnotations(world.pod())).toEqual({ restore: `snapshot/${uid}`, epoch: "4" });
    expect(suspension()).toEqual({ epoch: 4, restored: "Memory", restoredFrom: { name: "golden", uid } });
    expect(world.condition("Restored")).toMatchObject({ status: "True", reason: "MemoryRestored" });
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(lives()).toBe(11);
  });

  test("is restored once: a later resume continues its own memory, and a lost Pod starts from its files (STATE-22)", async () => {
    await take("golden", 10);
    await start({ restoreFrom, suspendPolicy });
    await turn("Suspended");
    await turn("Running");
    expect(driverAnnotations(world.pod())).toMatchObject({ restore: "suspension/4", epoch: "5" });
    expect(lives()).toBe(12);
    await world.finishPod();
    await world.settle(2_000);
    expect(driverAnnotations(world.pod())).not.toHaveProperty("restore");
  });

  test("is not rolled back when its snapshot is taken again under the same name (STATE-22)", async () => {
    await take("golden", 10);
    await start({ restoreFrom, suspendPolicy });
    await turn("Suspended");
    await world.user.delete(sandboxSnapshots, { namespace, name: "golden" });
    await take("golden", 100);
    await turn("Running");
    expect(lives()).toBe(12);
  });

  test("continues after its snapshot was deleted (STATE-22)", async () => {
    await take("golden", 10);
    await start({ restoreFrom, suspendPolicy });
    await turn("Suspended");
    await world.user.delete(sandboxSnapshots, { namespace, name: "golden" });
    await turn("Running");
    expect(lives()).toBe(12);
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });

  test("is rolled back when the snapshot is named while it is suspended (STATE-23)", async () => {
    await start({ suspendPolicy });
    for (let round = 0; round < 5; round++) {
      await turn("Suspended");
      await turn("Running");
    }
    await turn("Suspended");
    const uid = await take("golden", 10);
    await world.edit({ spec: { restoreFrom } });
    await turn("Running");
    expect(driverAnnotations(world.pod())).toMatchObject({ restore: `snapshot/${uid}`, epoch: "6" });
    expect(lives()).toBe(11);
    expect(suspension()).toMatchObject({ epoch: 6, restored: "Memory", restoredFrom: { name: "golden" } });
  });

  test("can be rolled back to the same snapshot again after the field was removed (STATE-23)", async () => {
    await take("golden", 10);
    await start({ restoreFrom, suspendPolicy });
    await turn("Suspended");
    await world.edit({ spec: { restoreFrom: null } });
    await world.settle();
    expect(suspension()).not.toHaveProperty("restoredFrom");
    await world.edit({ spec: { restoreFrom } });
    await turn("Running");
    expect(lives()).toBe(11);
    expect(suspension()).toMatchObject({ epoch: 5 });
  });

  test("keeps running when the snapshot is named or removed while it runs (STATE-23)", async () => {
    await take("golden", 10);
    await start({ suspendPolicy });
    const uid = world.pod()?.metadata?.uid;
    await world.edit({ spec: { restoreFrom } });
    await world.settle();
    await world.edit({ spec: { restoreFrom: null } });
    await world.settle();
    expect(world.pod()?.metadata?.uid).toBe(uid);
    expect(await world.attemptsDuring(() => world.settle(10 * minute))).toEqual({});
  });

  test("waits for a snapshot that does not exist yet or is not ready (STATE-24)", async () => {
    await start({ restoreFrom });
    expect(world.pod()).toBeUndefined();
    expect(world.condition("Ready")).toMatchObject({
      status: "False",
      reason: "SnapshotNotFound",
      message: 'SandboxSnapshot "golden" does not exist in this namespace',
    });
    await take("golden", 10, { conditions: [{ ...ready, status: "False", reason: "Saving" }] });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "SnapshotNotReady" });
    expect(await world.attemptsDuring(() => world.restart().then(() => world.settle(10 * minute)))).toEqual({});
    await report("golden", { conditions: [ready] });
    await world.settle(2_000);
    expect(lives()).toBe(11);
  });

  test("says why a snapshot will never be ready (STATE-24)", async () => {
    const failed = { ...ready, type: "Failed", reason: "QuotaExceeded", message: "the namespace has 10 snapshots" };
    await take("golden", 10, { conditions: [{ ...ready, status: "False" }, failed] });
    await start({ restoreFrom });
    expect(world.condition("Ready")).toMatchObject({
      reason: "SnapshotNotReady",
      message: 'SandboxSnapshot "golden" is not ready: the namespace has 10 snapshots',
    });
  });

  test("does not start in another way when the snapshot cannot be restored (STATE-25)", async () => {
    await take("golden", 10);
    driver.failsToRestore = { reason: "CPUFeaturesDiffer", message: "avx512f is missing" };
    await start({ restoreFrom, suspendPolicy: { depth: "Memory", fallback: "Allow" } });
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "CPUFeaturesDiffer" });
    expect(driver.running.size).toBe(0);
    expect(await world.attemptsDuring(() => world.settle(10 * minute))).toEqual({});
    await world.edit({ spec: { restoreFrom: null } });
    await world.settle(2_000);
    expect(driverAnnotations(world.pod())).not.toHaveProperty("restore");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });

  test("reports the depth of a snapshot of files (STATE-21)", async () => {
    await take("golden", 10, { depth: "Filesystem" });
    await start({ restoreFrom });
    expect(suspension()).toMatchObject({ restored: "Filesystem" });
  });

  test("reads no snapshots while no Sandbox names one (COST-15)", async () => {
    await start({ suspendPolicy });
    expect(world.server.requests.get("list sandboxsnapshots")).toBeUndefined();
  });
});

test("a cluster without SandboxSnapshots runs other Sandboxes, and reports the field (STATE-24)", async () => {
  await using world = new SandboxWorld({ withoutSnapshots: true });
  await world.createRunning({ name: "plain" });
  expect(world.condition("Ready", "plain")).toMatchObject({ status: "True" });
  await world.create({ spec: { restoreFrom } });
  await world.settle();
  expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "SnapshotNotFound" });
  expect(world.pod(name)).toBeUndefined();
});

import { sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { name, namespace, SandboxWorld } from "./sandbox-world.test.support.ts";
import { driverAnnotations, StateDriver } from "./state-driver.test.support.ts";

const minute = 60_000;
const memory = { depth: "Memory" } as const;
const refusing = { depth: "Memory", fallback: "Refuse" } as const;
const cannotSave = { reason: "RuntimeCannotSave", message: "runc cannot save Pods" };
const full = { reason: "QuotaExceeded", message: "the namespace has 10 images" };

describe("a Sandbox with depth Memory", () => {
  let world: SandboxWorld;
  let driver: StateDriver;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
    driver = new StateDriver(world);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const start = async (spec: object): Promise<void> => {
    await world.create({ spec });
    await world.settle(2_000);
  };
  const turn = async (mode: "Running" | "Suspended"): Promise<void> => {
    await world.setMode(mode);
    await world.settle(5_000);
  };
  const suspension = () => world.sandbox()?.status?.suspension;
  const suspended = () => world.condition("Suspended");
  const lives = () => driver.running.get(world.pod()?.metadata?.uid ?? "")?.lives;

  test("asks the driver, records what was saved, and deletes the Pod at once only then (STATE-1, STATE-31)", async () => {
    await start({ suspendPolicy: memory });
    expect(driverAnnotations(world.pod())).toEqual({ "suspend-depth": "Memory", epoch: "0" });
    expect(suspension()).toEqual({ epoch: 0 });
    const order: string[] = [];
    world.server.onChange(({ resource, object, gone }) => {
      if (resource.plural === "sandboxes") order.push(`status ${suspension()?.depth}`);
      else order.push(gone ? "gone" : object.metadata?.deletionTimestamp ? "deleted" : "pod");
    });
    await turn("Suspended");
    expect(order).toEqual(["status undefined", "pod", "pod", "status Memory", "gone", "status Memory"]);
    expect(suspension()).toEqual({ depth: "Memory", sizeBytes: 4096, epoch: 0, time: expect.any(String) as string });
    expect(suspended()).toMatchObject({
      status: "True",
      reason: "PodTerminated",
      message: "Pod has been terminated. Sandbox is suspended with depth Memory",
    });
  });

  test("continues the saved memory in a Pod of the next epoch (STATE-2)", async () => {
    await start({ suspendPolicy: memory });
    for (const epoch of [0, 1, 2]) {
      expect(lives()).toBe(epoch + 1);
      await turn("Suspended");
      await turn("Running");
      expect(driverAnnotations(world.pod())).toEqual({
        "suspend-depth": "Memory",
        restore: `suspension/${epoch}`,
        epoch: String(epoch + 1),
      });
      expect(suspension()).toMatchObject({ depth: "Memory", epoch: epoch + 1, restored: "Memory" });
      expect(world.condition("Restored")).toMatchObject({ status: "True", reason: "MemoryRestored" });
      expect(world.condition("Ready")).toMatchObject({ status: "True" });
    }
  });

  test("restores an image only once: a Pod that is lost later starts from its files (STATE-3)", async () => {
    await start({ suspendPolicy: memory });
    await turn("Suspended");
    await turn("Running");
    await world.user.delete(pods, { namespace, name });
    await world.settle(5_000);
    expect(driverAnnotations(world.pod())).toEqual({ "suspend-depth": "Memory", epoch: "1" });
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(suspension()).toMatchObject({ epoch: 1 });
  });

  test.for([
    ["the node's runtime cannot save", { unsaveable: cannotSave }, cannotSave],
    ["saving fails", { failsToSave: full }, full],
  ] as const)("uses the next lower depth and says why when %s (STATE-4)", async ([, answers, { reason, message }]) => {
    Object.assign(driver, answers);
    await start({ suspendPolicy: memory });
    await turn("Suspended");
    expect(world.pod()).toBeUndefined();
    expect(suspension()).toMatchObject({ depth: "Filesystem", epoch: 0, reason, message });
    expect(suspended()).toMatchObject({
      status: "True",
      reason,
      message: `Pod has been terminated. Sandbox is suspended with depth Filesystem: ${message}`,
    });
    await turn("Running");
    expect(driverAnnotations(world.pod())).toEqual({ "suspend-depth": "Memory", epoch: "0" });
    expect(suspension()).toMatchObject({ depth: "Filesystem", restored: "Filesystem", epoch: 0 });
    expect(world.condition("Restored")).toMatchObject({ status: "False", reason });
  });

  test.for([
    ["the node's runtime cannot save", { unsaveable: cannotSave }, cannotSave],
    ["saving fails", { failsToSave: full }, full],
  ] as const)("keeps running with fallback Refuse when %s (STATE-5)", async ([, answers, { reason, message }]) => {
    Object.assign(driver, answers);
    await start({ suspendPolicy: refusing });
    await turn("Suspended");
    const uid = world.pod()?.metadata?.uid;
    expect(suspended()).toMatchObject({ status: "False", reason, message: `Sandbox keeps running: ${message}` });
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(driverAnnotations(world.pod())).not.toHaveProperty("save");
    expect(await world.attemptsDuring(() => world.settle(10 * minute))).toEqual({});
    driver.unsaveable = undefined;
    driver.failsToSave = undefined;
    await turn("Running");
    expect(suspended()).toMatchObject({ status: "False", reason: "NotSuspended" });
    expect(world.pod()?.metadata?.uid).toBe(uid);
  });

  test("tries a refused suspension again when the spec changes (STATE-5)", async () => {
    driver.failsToSave = full;
    await start({ suspendPolicy: refusing });
    await turn("Suspended");
    expect(suspended()?.reason).toBe("QuotaExceeded");
    driver.failsToSave = undefined;
    await world.edit({ spec: { service: true } });
    await world.settle(5_000);
    expect(suspended()).toMatchObject({ status: "True", reason: "PodTerminated" });
    expect(suspension()).toMatchObject({ depth: "Memory" });
  });

  test("saves an idle Sandbox after the status says that it is idle, and wakes it by activity (STATE-6)", async () => {
    await start({ suspendPolicy: memory, idlePolicy: { suspendAfterSeconds: 600 } });
    const order: unknown[] = [];
    world.server.onChange(({ resource }) =>
      order.push(resource.plural === "pods" ? driverAnnotations(world.pod())["save"] : suspended()?.reason),
    );
    await world.settle(11 * minute);
    expect(order.slice(0, 3)).toEqual(["Idle", "0", "0"]);
    expect(suspended()).toMatchObject({ status: "True", reason: "Idle" });
    expect(suspension()).toMatchObject({ depth: "Memory", epoch: 0 });
    await world.edit({ metadata: { annotations: { "agents.x-k8s.io/last-activity": "2030-01-01T00:00:00Z" } } });
    await world.settle(5_000);
    expect(lives()).toBe(2);
  });

  test("tries again after the next idle window when an idle Sandbox could not be saved (STATE-7)", async () => {
    driver.failsToSave = full;
    await start({ suspendPolicy: refusing, idlePolicy: { suspendAfterSeconds: 600 } });
    await world.settle(11 * minute);
    expect(suspended()).toMatchObject({ status: "False", reason: "QuotaExceeded" });
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    driver.failsToSave = undefined;
    await world.settle(8 * minute);
    expect(suspended()).toMatchObject({ status: "False", reason: "QuotaExceeded" });
    await world.settle(3 * minute);
    expect(suspended()).toMatchObject({ status: "True", reason: "Idle" });
  });

  test("does not disturb an idle Sandbox whose runtime cannot save (STATE-7)", async () => {
    driver.unsaveable = cannotSave;
    await start({ suspendPolicy: refusing, idlePolicy: { suspendAfterSeconds: 600 } });
    await world.settle(11 * minute);
    expect(suspended()).toMatchObject({ status: "False", reason: "RuntimeCannotSave" });
    expect(await world.attemptsDuring(() => world.settle(60 * minute))).toEqual({});
    await world.edit({ metadata: { annotations: { "agents.x-k8s.io/last-activity": "2030-01-01T00:00:00Z" } } });
    await world.settle();
    expect(suspended()).toMatchObject({ status: "False", reason: "NotSuspended" });
  });

  test("finishes a save during which it is woken, and then continues from it (STATE-8)", async () => {
    await start({ suspendPolicy: memory });
    await world.setMode("Suspended");
    await world.settle(50);
    expect(driverAnnotations(world.pod())).toMatchObject({ save: "0" });
    await turn("Running");
    expect(lives()).toBe(2);
    expect(suspension()).toMatchObject({ epoch: 1, restored: "Memory" });
  });

  test("keeps running when it is woken during a save that fails (STATE-8)", async () => {
    driver.failsToSave = full;
    await start({ suspendPolicy: memory });
    const uid = world.pod()?.metadata?.uid;
    await world.setMode("Suspended");
    await world.settle(50);
    await turn("Running");
    expect(world.pod()?.metadata?.uid).toBe(uid);
    expect(driverAnnotations(world.pod())).not.toHaveProperty("save");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });

  test("saves a Sandbox that is suspended while it is being restored, after the restore (STATE-9)", async () => {
    await start({ suspendPolicy: memory });
    await turn("Suspended");
    driver.delayMs = () => 1_000;
    await world.setMode("Running");
    await world.settle(50);
    await world.podReports({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] });
    await world.setMode("Suspended");
    await world.settle(600);
    expect(suspended()).toMatchObject({ status: "False", reason: "Restoring" });
    await world.settle(5_000);
    expect(suspension()).toMatchObject({ depth: "Memory", epoch: 1 });
    await turn("Running");
    expect(lives()).toBe(3);
  });

  test("does not claim to have saved a Pod that somebody deleted during the save (STATE-10)", async () => {
    await start({ suspendPolicy: memory });
    driver.delayMs = () => undefined;
    await world.setMode("Suspended");
    await world.settle();
    await world.finishPod();
    await world.settle();
    expect(suspension()).toMatchObject({ depth: "Filesystem", reason: "SaveFailed" });
    driver.delayMs = () => 100;
    await turn("Running");
    expect(driverAnnotations(world.pod())).not.toHaveProperty("restore");
  });

  test("remembers an image whose Pod somebody deleted right after the save (STATE-10)", async () => {
    await start({ suspendPolicy: memory });
    world.controllerFaults = ({ resource }) =>
      resource.plural === "sandboxes" ? { refuse: { reason: "InternalError" } } : undefined;
    await world.setMode("Suspended");
    await world.settle(300);
    driver.delayMs = () => undefined;
    await world.user.delete(pods, { namespace, name });
    world.controllerFaults = undefined;
    await world.settle(minute);
    expect(suspension()).toMatchObject({ depth: "Memory" });
    driver.delayMs = () => 100;
    await world.finishPod();
    await turn("Running");
    expect(lives()).toBe(2);
  });

  test("deletes a Sandbox during a save without a new Pod or status (STATE-11)", async () => {
    await start({ suspendPolicy: memory });
    driver.delayMs = () => undefined;
    await world.setMode("Suspended");
    await world.settle();
    await world.user.delete(sandboxes, { namespace, name });
    await world.settle();
    expect(world.sandbox()).toBeUndefined();
    expect(world.attempts.get("create pods")).toBe(1);
  });

  test.for([["ImageDamaged"], ["RuntimeVersionDiffers"], ["SomethingNew"]] as const)(
    "starts from its files when the image cannot be restored: %s (STATE-12)",
    async ([reason]) => {
      await start({ suspendPolicy: memory });
      await turn("Suspended");
      driver.failsToRestore = { reason, message: "pages.img is too short" };
      await turn("Running");
      const known = reason === "SomethingNew" ? "RestoreFailed" : reason;
      expect(driverAnnotations(world.pod())).toEqual({ "suspend-depth": "Memory", epoch: "0" });
      expect(suspension()).toMatchObject({ restored: "Filesystem", epoch: 0, reason: known });
      expect(world.condition("Restored")).toMatchObject({
        status: "False",
        reason: known,
        message: "Sandbox was started with depth Filesystem: pages.img is too short",
      });
      expect(world.condition("Ready")).toMatchObject({ status: "True" });
      expect(await world.attemptsDuring(() => world.settle(10 * minute))).toEqual({});
    },
  );

  test("stays not ready with fallback Refuse when the image cannot be restored, and keeps the image (STATE-13)", async () => {
    await start({ suspendPolicy: refusing });
    await turn("Suspended");
    driver.failsToRestore = { reason: "KeyUnavailable", message: "no key" };
    await turn("Running");
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "KeyUnavailable", message: "no key" });
    expect(world.condition("Restored")).toMatchObject({ status: "False", reason: "KeyUnavailable" });
    expect(await world.attemptsDuring(() => world.settle(10 * minute))).toEqual({});
    await turn("Suspended");
    expect(suspension()).toMatchObject({ depth: "Memory", epoch: 0 });
    driver.failsToRestore = undefined;
    await turn("Running");
    expect(lives()).toBe(2);
  });

  test("continues the image although the policy was removed while it slept (STATE-14)", async () => {
    await start({ suspendPolicy: memory });
    await turn("Suspended");
    await world.edit({ spec: { suspendPolicy: null } });
    await turn("Running");
    expect(lives()).toBe(2);
    await turn("Suspended");
    expect(suspension()).toMatchObject({ depth: "Filesystem", epoch: 1 });
    expect(world.pod()).toBeUndefined();
  });

  test("does not save a Pod that was created before the policy wanted it (STATE-15)", async () => {
    await start({});
    await world.edit({ spec: { suspendPolicy: memory } });
    await turn("Suspended");
    expect(suspended()).toMatchObject({ status: "True", reason: "RuntimeCannotSave" });
    await turn("Running");
    await turn("Suspended");
    expect(suspension()).toMatchObject({ depth: "Memory" });
  });

  test("keeps the epoch and the image over an expiry (STATE-16)", async () => {
    await start({ suspendPolicy: memory });
    await turn("Suspended");
    await world.edit({ spec: { shutdownTime: "2020-01-01T00:00:00Z" } });
    await world.settle(5_000);
    expect(suspension()).toMatchObject({ depth: "Memory", epoch: 0 });
    await world.edit({ spec: { shutdownTime: null, operatingMode: "Running" } });
    await world.settle(5_000);
    expect(lives()).toBe(2);
  });

  test.for([
    [100, 0],
    [1_000, 1],
  ] as const)(
    "saved and restored in %i ms, reports that %i times before the result (COST-14)",
    async ([ms, reports]) => {
      await start({ suspendPolicy: memory });
      driver.delayMs = () => ms;
      expect(await world.attemptsDuring(() => turn("Suspended"))).toEqual({
        "patch pods": 1,
        "delete pods": 1,
        "patch sandboxes/status": 2 + reports,
      });
      expect(await world.attemptsDuring(() => turn("Running"))).toEqual({
        "create pods": 1,
        "patch sandboxes/status": 1 + reports,
      });
    },
  );
});

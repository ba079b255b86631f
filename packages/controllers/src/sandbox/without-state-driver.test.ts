import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SandboxWorld } from "./sandbox-world.test.support.ts";
import { driverAnnotations, StateDriver } from "./state-driver.test.support.ts";

describe("in a cluster without a state driver", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true });
    const driver = new StateDriver(world);
    driver.delayMs = () => undefined;
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const running = async (suspendPolicy: object): Promise<void> => world.createRunning({ spec: { suspendPolicy } });

  test.for([["Memory"], ["Filesystem"]] as const)(
    "depth %s keeps volumes only, and says why (STATE-17)",
    async ([depth]) => {
      await running({ depth });
      await world.setMode("Suspended");
      await world.settle();
      await world.finishPod();
      await world.settle();
      expect(world.sandbox()?.status?.suspension).toMatchObject({ depth: "Volumes", reason: "RuntimeCannotSave" });
      expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "RuntimeCannotSave" });
    },
  );

  test.for([["Memory"], ["Filesystem"]] as const)(
    "refuses depth %s with fallback Refuse (STATE-17)",
    async ([depth]) => {
      await running({ depth, fallback: "Refuse" });
      await world.setMode("Suspended");
      await world.settle();
      expect(world.pod()).toBeDefined();
      expect(world.condition("Suspended")).toMatchObject({ status: "False", reason: "RuntimeCannotSave" });
    },
  );

  test("depth Volumes is reached, and reported (STATE-17)", async () => {
    await running({ depth: "Volumes", fallback: "Refuse" });
    await world.setMode("Suspended");
    await world.settle();
    await world.finishPod();
    await world.settle();
    expect(world.sandbox()?.status?.suspension).toEqual({ depth: "Volumes", time: expect.any(String) as string });
    expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "PodTerminated" });
  });

  test("removes a forged request to save, which nobody would answer (STATE-18)", async () => {
    await running({ depth: "Memory" });
    await world.editPod({ metadata: { annotations: { "agents.x-k8s.io/save": "0" } } });
    await world.settle();
    expect(driverAnnotations(world.pod())).not.toHaveProperty("save");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });
});

describe("a Sandbox without the policy", () => {
  test("gets no annotation and no status about saved state (STATE-19)", async () => {
    await using world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
    const driver = new StateDriver(world);
    await world.create();
    await world.settle(2_000);
    expect(driverAnnotations(world.pod())).toEqual({});
    await world.setMode("Suspended");
    await world.settle(2_000);
    await world.setMode("Running");
    await world.settle(2_000);
    expect(world.sandbox()?.status).not.toHaveProperty("suspension");
    expect(world.conditionTypes).toEqual(["Suspended", "Ready", "PodScheduled"]);
    expect(driver.images.size).toBe(0);
  });

  test("depth Volumes does not keep the root filesystem (STATE-20)", async () => {
    await using world = new SandboxWorld({ keepRootFilesystem: true });
    await world.createRunning({ spec: { suspendPolicy: { depth: "Volumes" } } });
    expect(world.pod()?.metadata?.annotations).not.toHaveProperty("agents.x-k8s.io/keep-rootfs");
    await world.edit({ spec: { suspendPolicy: { depth: "Filesystem" } } });
    await world.settle();
    expect(world.pod()?.metadata?.annotations).toHaveProperty("agents.x-k8s.io/keep-rootfs");
  });
});

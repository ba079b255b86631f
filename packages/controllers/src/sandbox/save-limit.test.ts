import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SandboxWorld } from "./sandbox-world.test.support.ts";
import { driverAnnotations, StateDriver } from "./state-driver.test.support.ts";

const minute = 60_000;
const message = "the state driver has not answered within 30 minutes";

describe("a Sandbox whose state driver does not answer", () => {
  let world: SandboxWorld;
  let driver: StateDriver;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
    driver = new StateDriver(world);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** Asks a driver that has stopped to save the Pod. */
  async function suspend(fallback: "Allow" | "Refuse"): Promise<void> {
    await world.create({ spec: { suspendPolicy: { depth: "Memory", fallback } } });
    await world.settle(2_000);
    driver.delayMs = () => undefined;
    await world.setMode("Suspended");
    await world.settle(29 * minute);
    expect(world.condition("Suspended")).toMatchObject({ status: "False", reason: "Saving" });
    expect(driverAnnotations(world.pod())).toMatchObject({ save: "0" });
  }

  test("is suspended with a lower depth after 30 minutes, if the policy allows it (STATE-29)", async () => {
    await suspend("Allow");
    driver.delayMs = () => 100;
    await world.settle(2 * minute);
    expect(world.pod()).toBeUndefined();
    expect(world.sandbox()?.status?.suspension).toMatchObject({ depth: "Filesystem", reason: "SaveFailed", message });
    expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "SaveFailed" });
  });

  test("keeps running otherwise, and the request is withdrawn (STATE-29)", async () => {
    await suspend("Refuse");
    const uid = world.pod()?.metadata?.uid;
    await world.settle(2 * minute);
    const refusal = { status: "False", reason: "SaveFailed", message: `Sandbox keeps running: ${message}` };
    expect(world.condition("Suspended")).toMatchObject(refusal);
    expect(driverAnnotations(world.pod())).not.toHaveProperty("save");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(world.pod()?.metadata?.uid).toBe(uid);
    expect(await world.attemptsDuring(() => world.settle(60 * minute))).toEqual({});
  });

  test("keeps running if it was woken in the meantime (STATE-29)", async () => {
    await suspend("Allow");
    const uid = world.pod()?.metadata?.uid;
    await world.setMode("Running");
    await world.settle(2 * minute);
    expect(driverAnnotations(world.pod())).not.toHaveProperty("save");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(world.pod()?.metadata?.uid).toBe(uid);
  });

  test("is saved if the answer comes after a long time, but within the limit (STATE-29)", async () => {
    await world.create({ spec: { suspendPolicy: { depth: "Memory" } } });
    await world.settle(2_000);
    driver.delayMs = () => 29 * minute;
    await world.setMode("Suspended");
    await world.settle(29.5 * minute);
    expect(world.sandbox()?.status?.suspension).toMatchObject({ depth: "Memory" });
  });
});

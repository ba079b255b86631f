import type { Pod, PodStatus } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recoveryOf, restartCountAnnotation } from "./recovery.ts";
import { podTemplate, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";

const evicted: PodStatus = { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory" };
const outOfMemory: PodStatus = {
  phase: "Failed",
  containerStatuses: [
    {
      name: "c",
      ready: false,
      image: "",
      imageID: "",
      restartCount: 0,
      state: { terminated: { exitCode: 137, reason: "OOMKilled" } },
    },
  ],
};

describe("a Pod that failed", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
  const restarts = () => world.pod()?.metadata?.annotations?.[restartCountAnnotation];

  test.for([
    ["evicted", evicted, "Pod failed: Evicted: The node was low on resource: memory. A new Pod replaces it"],
    ["out of memory", outOfMemory, 'Pod failed: container "c": OOMKilled, exit code 137. A new Pod replaces it'],
    ["without its node", { phase: "Failed", reason: "NodeLost" }, "Pod failed: NodeLost. A new Pod replaces it"],
  ] as const)(
    "is replaced when it is %s, keeps its volumes and has its reason reported (RECOVER-3)",
    async ([, status, message]) => {
      await world.createRunning({ spec: { volumeClaimTemplates } });
      const [pod, claim] = [world.pod()?.metadata?.uid, world.volumeClaim("data-my-sandbox")];
      await world.podReports(status);
      await world.clock.advance(500);
      expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "PodReplacing", message });
      expect(world.condition("Finished")).toBeUndefined();
      await world.clock.advance(1_000);
      expect(world.pod()?.metadata?.uid).not.toBe(pod);
      expect(world.volumeClaim("data-my-sandbox")).toEqual(claim);
      await world.podReports(runningPod);
      await world.settle();
      expect(world.condition("Ready")).toMatchObject({ status: "True" });
    },
  );

  test("is replaced with growing delays: after five failures at most once in ten seconds (RECOVER-4)", async () => {
    await world.create();
    await world.settle();
    const madeAt: number[] = [];
    world.server.onChange(({ resource, previous }) => {
      if (resource.plural === "pods" && previous === undefined) madeAt.push(world.clock.now());
    });
    for (let failures = 0; failures < 12; failures++) {
      await world.podReports(evicted);
      const before = madeAt.length;
      await world.clock.runUntil(() => madeAt.length > before);
    }
    const gaps = madeAt.map((time, index) => time - (madeAt[index - 1] ?? 0)).slice(1);
    expect(gaps.every((gap, index) => index === 0 || gap >= (gaps[index - 1] ?? 0))).toBe(true);
    expect(gaps.slice(4).every((gap) => gap >= 10_000)).toBe(true);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(301_000);
    expect(restarts()).toBe("12");
  });

  test("is replaced after a delay measured on a monotonic clock (RECOVER-4)", async () => {
    await world.createRunning();
    await world.podReports(evicted);
    world.clockErrorMs = 3_600_000;
    await world.clock.advance(900);
    expect(world.server.writes.get("create pods")).toBe(1);
    await world.clock.advance(200);
    expect(world.server.writes.get("create pods")).toBe(2);
  });

  test("finishes the Sandbox when restartPolicy is Never (RECOVER-1)", async () => {
    await world.createRunning({ spec: podTemplate({}, { restartPolicy: "Never" }) });
    await world.podReports(outOfMemory);
    await world.settle(3_600_000);
    expect(world.condition("Finished")).toMatchObject({ status: "True", reason: "PodFailed" });
    expect(world.server.writes.get("create pods")).toBe(1);
  });

  test("is not replaced while the Sandbox is suspended (RECOVER-6)", async () => {
    await world.createRunning();
    await world.podReports(evicted);
    await world.setMode("Suspended");
    await world.settle(3_600_000);
    expect(world.server.writes.get("create pods")).toBe(1);
    expect(world.condition("Suspended")).toMatchObject({ status: "True" });
  });
});

describe("recoveryOf()", () => {
  const failed = (status: Partial<PodStatus>, count?: string): Pod => ({
    metadata: { annotations: count === undefined ? {} : { [restartCountAnnotation]: count } },
    spec: { containers: [] },
    status: { phase: "Failed", ...status },
  });

  test.for([
    ["the first failure", undefined, { delayMs: 1_000, restartCount: 1 }],
    ["the fourth failure", "3", { delayMs: 8_000, restartCount: 4 }],
    ["the hundredth failure", "99", { delayMs: 300_000, restartCount: 100 }],
    ["a forged negative count", "-5", { delayMs: 1_000, restartCount: 1 }],
    ["a forged huge count", "1e308", { delayMs: 300_000, restartCount: 1_001 }],
    ["a forged count that is no number", "many", { delayMs: 1_000, restartCount: 1 }],
  ] as const)("delays the replacement after %s (RECOVER-4)", ([, count, expected]) => {
    expect(recoveryOf(failed({}, count))).toEqual(expected);
  });

  test("resets the delay for a Pod that ran for ten minutes (RECOVER-4)", () => {
    const startTime = "2026-01-01T00:00:00Z";
    const ended = (lastTransitionTime: string) => ({
      startTime,
      conditions: [{ type: "Ready", status: "False", lastTransitionTime }],
    });
    expect(recoveryOf(failed(ended("2026-01-01T00:10:00Z"), "7"))?.restartCount).toBe(1);
    expect(recoveryOf(failed(ended("2026-01-01T00:09:59Z"), "7"))?.restartCount).toBe(8);
  });

  test("does not replace a Pod that exceeded its own deadline (RECOVER-5)", () => {
    expect(recoveryOf(failed({ reason: "DeadlineExceeded" }))).toBeUndefined();
  });
});

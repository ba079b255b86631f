import type { Condition, Pod } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods, services } from "../child-caches.ts";
import { decideNow } from "./decide.ts";
import type { Observed } from "./observed.ts";
import {
  deployment,
  hash,
  hashLabel,
  name,
  namespace,
  newPod,
  newSandbox,
  ownedBy,
  runningPod,
  SandboxWorld,
} from "./sandbox-world.test.support.ts";
import { defaultSettings } from "./settings.ts";

describe("suspend and resume", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true });
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("deletes the Pod once and reports that the Sandbox is suspending (SLEEP-1)", async () => {
    await world.createRunning();
    const before = world.condition("Suspended");
    await world.settle(5_000);
    await world.setMode("Suspended");
    await world.settle(60_000);
    expect(world.server.requests.get("delete pods")).toBe(1);
    expect(world.condition("Suspended")).toMatchObject({
      status: "False",
      reason: "PodTerminating",
      message: "Pod is terminating. Sandbox is suspending",
      lastTransitionTime: before?.lastTransitionTime,
    });
    expect(world.condition("Ready")).toMatchObject({
      status: "False",
      reason: "SandboxSuspended",
      message: "Sandbox is suspending",
    });
    expect(world.podNameNote).toBe(name);
  });

  test("reports Suspended when the Pod is gone and keeps the selector and the Service (SLEEP-2)", async () => {
    await world.createRunning({ spec: { service: true } });
    const before = world.condition("Suspended");
    await world.setMode("Suspended");
    await world.settle(5_000);
    await world.finishPod();
    await world.settle();
    expect(world.condition("Suspended")).toMatchObject({
      status: "True",
      reason: "PodTerminated",
      message: "Pod has been terminated. Sandbox is suspended",
    });
    expect(world.condition("Suspended")?.lastTransitionTime).not.toBe(before?.lastTransitionTime);
    expect(world.condition("Ready")?.message).toBe("Sandbox is suspended");
    expect(world.conditionTypes).toEqual(["Suspended", "Ready"]);
    const { conditions: _, ...rest } = world.sandbox()?.status ?? {};
    expect(rest).toEqual({
      selector: `${hashLabel}=${hash}`,
      service: name,
      serviceFQDN: "my-sandbox.default.svc.cluster.local",
    });
  });

  test("resumes with a new Pod any number of times and updates Suspended each time (SLEEP-3)", async () => {
    await world.createRunning();
    const seen = new Set([world.pod()?.metadata?.uid]);
    for (const cycle of [1, 2, 3, 4, 5]) {
      await world.setMode("Suspended");
      await world.settle(2_000);
      await world.finishPod();
      await world.settle(2_000);
      const asleep = world.condition("Suspended");
      expect(asleep).toMatchObject({ status: "True", observedGeneration: 2 * cycle });
      await world.setMode("Running");
      await world.settle(2_000);
      seen.add(world.pod()?.metadata?.uid);
      const awake = world.condition("Suspended");
      expect(awake).toMatchObject({ status: "False", reason: "NotSuspended", observedGeneration: 2 * cycle + 1 });
      expect(awake?.lastTransitionTime).not.toBe(asleep?.lastTransitionTime);
    }
    expect(seen.size).toBe(6);
  });

  test.for([
    ["a Pod without controller", []],
    ["a Pod of another controller", [deployment]],
  ] as const)("keeps %s under the Sandbox's name and shows nothing of it (SLEEP-4)", async ([, owners]) => {
    const annotations = { "agents.x-k8s.io/pod-name": name, other: "kept" };
    const sandbox = await world.create({ spec: { operatingMode: "Suspended" }, annotations });
    // A second, living owner keeps garbage collection away.
    const ownerReferences = [...owners, { ...ownedBy(sandbox), controller: false }];
    await world.user.create(pods, newPod({ ownerReferences }));
    await world.podReports({ ...runningPod, phase: "Succeeded" });
    await world.settle();
    expect(world.pod()?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(world.sandbox()?.metadata.annotations).toEqual({ other: "kept" });
    expect(world.condition("Suspended")).toMatchObject({ status: "False", reason: "PodNotOwned" });
    expect(world.conditionTypes).toEqual(["Suspended", "Ready"]);
    expect(world.sandbox()?.status).not.toHaveProperty("podIPs");
    expect(world.sandbox()?.status).not.toHaveProperty("nodeName");
    expect(world.sandbox()?.status?.selector).toBe(`${hashLabel}=${hash}`);
    expect(world.warnings).toEqual([]);
  });

  test("reports the error while the Pod cannot be deleted, and deletes it later (SLEEP-5)", async () => {
    await world.createRunning();
    world.refuse("delete", pods);
    await world.setMode("Suspended");
    await world.settle();
    expect(world.condition("Suspended")).toMatchObject({ status: "False", reason: "PodTerminating" });
    expect(world.condition("Ready")).toMatchObject({
      status: "False",
      reason: "ReconcilerError",
      message: expect.stringMatching(/^Error seen: /) as unknown,
    });
    world.server.onRequest = undefined;
    await world.settle(10_000);
    expect(world.pod()?.metadata?.deletionTimestamp).toBeDefined();
  });

  test("does not report a conflict when the Pod changed since it was read (STATUS-13)", async () => {
    await world.createRunning();
    const told: unknown[] = [];
    world.server.onChange(() => told.push(world.condition("Ready")?.reason));
    world.refuse("delete", pods, "Conflict");
    await world.setMode("Suspended");
    await world.settle(60_000);
    expect(told).not.toContain("ReconcilerError");
    world.server.onRequest = undefined;
    await world.settle(60_000);
    expect(world.condition("Suspended")).toMatchObject({ reason: "PodTerminating" });
  });

  test("creates volumes and Service but no Pod for a Sandbox that starts suspended (SLEEP-6)", async () => {
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
    await world.create({ spec: { operatingMode: "Suspended", service: true, volumeClaimTemplates } });
    await world.settle();
    expect(world.pod()).toBeUndefined();
    expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "PodTerminated" });
    expect(world.volumeClaim("data-my-sandbox")).toBeDefined();
    expect(world.service()).toBeDefined();
  });

  test("suspends a Sandbox with several Pods (SLEEP-7)", async () => {
    await world.createRunning();
    await world.user.create(pods, newPod({ name: "second", ownerReferences: [ownedBy(world.sandbox())] }));
    await world.settle();
    expect(world.condition("Ready")?.reason).toBe("MultiplePods");
    await world.setMode("Suspended");
    await world.settle();
    expect(world.condition("Suspended")).toMatchObject({ reason: "PodTerminating" });
    await world.finishPod();
    await world.finishPod("second");
    await world.settle();
    expect(world.condition("Suspended")).toMatchObject({ status: "True" });
  });
});

describe("conditions", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const unschedulable = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: "0/3 nodes: no room",
  };
  const gated = { type: "PodScheduled", status: "False", reason: "SchedulingGated", message: "waits for a gate" };

  test.for([
    ["unschedulable", unschedulable],
    ["gated", gated],
  ] as const)("copies reason and message of an %s Pod (STATUS-1)", async ([, condition]) => {
    await world.create();
    await world.settle();
    await world.podReports({ phase: "Pending", conditions: [condition] });
    await world.settle();
    expect(world.condition("PodScheduled")).toMatchObject(condition);
  });

  test.for([
    ["False", "PodSchedulingUnknown"],
    ["True", "PodScheduled"],
  ] as const)("reports PodScheduled=%s without a reason as %s (STATUS-2)", async ([status, reason]) => {
    await world.create();
    await world.settle();
    await world.podReports({ phase: "Pending", conditions: [{ type: "PodScheduled", status }] });
    await world.settle(15_000);
    expect(world.condition("PodScheduled")).toMatchObject({ status, reason });
  });

  test("reports a Sandbox as not Ready when its Ready Pod has no address (STATUS-3)", async () => {
    await world.create();
    await world.settle();
    await world.podReports({ ...runningPod, podIPs: [] });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "False", message: "Pod is Ready but has no podIPs yet" });
  });

  test("requires the Service for Ready only if the spec asks for it (STATUS-4)", async () => {
    world.refuse("create", services);
    await world.createRunning({ spec: { service: true } });
    expect(world.condition("Ready")).toMatchObject({ status: "False" });
    world.server.onRequest = undefined;
    await world.settle(10_000);
    expect(world.condition("Ready")).toMatchObject({ status: "True", message: "Pod is Ready; Service Exists" });
    await world.edit({ spec: { service: false } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "True", message: "Pod is Ready" });
  });

  test("keeps exactly three conditions on a Ready Sandbox over many reconciles (STATUS-5)", async () => {
    await world.createRunning();
    for (let round = 0; round < 20; round++) {
      await world.edit({ metadata: { labels: { round: String(round) } } });
      await world.settle();
    }
    expect(world.conditionTypes).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  test("writes node and PodScheduled together with the next change (STATUS-6)", async () => {
    await world.create();
    await world.settle();
    const early = await world.writesDuring(async () => {
      await world.editPod({ spec: { nodeName: "node-1" } });
      await world.podReports({ phase: "", conditions: [{ type: "PodScheduled", status: "True" }] });
      await world.settle(5_000);
    });
    expect(early).toEqual({ "patch pods": 1, "patch pods/status": 1 });
    const ready = await world.writesDuring(async () => {
      await world.podReports(runningPod);
      await world.settle();
    });
    expect(ready).toEqual({ "patch pods/status": 1, "patch sandboxes/status": 1 });
    expect(world.sandbox()?.status).toMatchObject({ nodeName: "node-1", podIPs: ["10.0.0.2"] });
    await world.editPod({ spec: { nodeName: "node-2" } });
    await world.settle();
    expect(world.sandbox()?.status?.nodeName).toBe("node-2");
  });

  test("writes the node of a Pod that starts slowly after ten seconds (STATUS-6)", async () => {
    await world.create();
    await world.settle();
    await world.editPod({ spec: { nodeName: "node-1" } });
    await world.podReports({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] });
    await world.settle(11_000);
    expect(world.sandbox()?.status?.nodeName).toBe("node-1");
    expect(world.condition("PodScheduled")?.status).toBe("True");
  });

  test("makes a scheduling reason and message valid before copying them (STATUS-10)", async () => {
    await world.create();
    await world.settle();
    const bad = { type: "PodScheduled", status: "False", reason: "no room!", message: "m".repeat(40_000) };
    await world.podReports({ phase: "Pending", conditions: [bad] });
    await world.settle();
    expect(world.condition("PodScheduled")).toMatchObject({ reason: "no_room", message: "m".repeat(32_768) });
  });

  test("keeps a Sandbox Ready during an error that does not affect its Pod (STATUS-11)", async () => {
    await world.createRunning();
    world.refuse("patch", pods);
    await world.edit({ metadata: { labels: { "agents.x-k8s.io/created-by": "go-client" } } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    world.server.onRequest = undefined;
    await world.settle(10_000);
    expect(world.pod()?.metadata?.labels).toMatchObject({ "agents.x-k8s.io/created-by": "go-client" });
  });
});

describe("decide() after a failed lookup", () => {
  const uid = "00000000-0000-4000-8000-000000000001";
  const seen = (spec: object, over: Partial<Observed>): Observed => ({
    sandbox: newSandbox({ metadata: { name, namespace, uid, generation: 3 }, spec }),
    pods: [],
    trackedPod: undefined,
    volumeClaims: new Map(),
    service: undefined,
    watched: {},
    failures: [],
    ...over,
  });
  const lost = {
    step: "pod",
    message: "Cannot get Pod: the answer was lost",
    isPassing: true,
    isInvalid: false,
  } as const;
  const decided = (spec: object, over: Partial<Observed>): (Condition | undefined)[] => {
    const { status } = decideNow(seen(spec, over), 0, defaultSettings);
    return ["Suspended", "PodScheduled", "Ready"].map((type) => status?.conditions?.find((one) => one.type === type));
  };

  test("reports Unknown for a suspended Sandbox whose Pod cannot be read (STATUS-8)", () => {
    expect(decided({ operatingMode: "Suspended" }, { failures: [lost] })).toMatchObject([
      { status: "Unknown", reason: "PodStateUnknown" },
      {
        status: "Unknown",
        reason: "PodSchedulingUnknown",
        message: "Pod state is unknown. Pod scheduling cannot be determined",
      },
      { status: "False", reason: "ReconcilerError", message: `Error seen: ${lost.message}` },
    ]);
  });

  test("reports Unknown for a running Sandbox whose Pod cannot be read (STATUS-8)", () => {
    expect(decided({}, { failures: [lost] })).toMatchObject([
      { status: "False", reason: "NotSuspended" },
      {
        status: "Unknown",
        reason: "PodSchedulingUnknown",
        message: "Pod state is unknown. Pod scheduling cannot be determined",
      },
      { status: "False", reason: "ReconcilerError" },
    ]);
  });

  test("reports a missing Service that the spec asks for, although the Pod is Ready (STATUS-4)", () => {
    const pod = {
      ...newPod({ uid: "1", ownerReferences: [ownedBy({ metadata: { name, uid } })] }),
      status: runningPod,
    };
    const readyOf = (spec: object): unknown => {
      const { status, message } = decided(spec, { pods: [pod] })[2] ?? {};
      return [status, message];
    };
    expect(readyOf({ service: true })).toEqual(["False", "Pod is Ready; Service does not exist"]);
    expect(readyOf({})).toEqual(["True", "Pod is Ready"]);
  });

  test("reports several Pods without other errors in the message (STATUS-9)", () => {
    const ownerReferences = [ownedBy({ metadata: { name, uid } })];
    const two: Pod[] = [newPod({ uid: "1", ownerReferences }), newPod({ name: "b", uid: "2", ownerReferences })];
    const foreign = { metadata: { name: "data-my-sandbox", ownerReferences: [deployment] } };
    const [, , ready] = decided(
      { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
      { pods: two, volumeClaims: new Map([["data-my-sandbox", foreign]]) },
    );
    expect(ready).toMatchObject({ status: "False", reason: "MultiplePods" });
    expect(ready?.message).not.toContain("PersistentVolumeClaim");
  });
});

import type { Condition, Pod } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods, services } from "../child-caches.ts";
import { decide } from "./decide.ts";
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

describe("suspending and resuming", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld({ gracefulPods: true });
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("9.3 #49 the Pod is deleted once, and the Sandbox says it is suspending", async () => {
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

  test("9.3 #50 when the Pod is gone the Sandbox is suspended, and keeps selector and Service", async () => {
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

  test("9.3 #51 it resumes with a new Pod, as often as asked, and Suspended says so each time (weakness 26)", async () => {
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
    ["nobody's", []],
    ["somebody else's", [deployment]],
  ] as const)("9.3 #52 %s Pod under the name survives, and nothing of it shows", async ([, owners]) => {
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

  test("9.3 #54 a Pod that cannot be deleted is still terminating, with the error shown", async () => {
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

  test("of a Pod that is not what was judged nothing is said before it is looked at again", async () => {
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

  test("9.3 #56 suspended from the start: no Pod, but volumes and Service", async () => {
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
    await world.create({ spec: { operatingMode: "Suspended", service: true, volumeClaimTemplates } });
    await world.settle();
    expect(world.pod()).toBeUndefined();
    expect(world.condition("Suspended")).toMatchObject({ status: "True", reason: "PodTerminated" });
    expect(world.volumeClaim("data-my-sandbox")).toBeDefined();
    expect(world.service()).toBeDefined();
  });

  test("weakness 17: a Sandbox with several Pods can be suspended", async () => {
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
  ] as const)("9.3 #57 what keeps an %s Pod is told in its own words", async ([, condition]) => {
    await world.create();
    await world.settle();
    await world.podReports({ phase: "Pending", conditions: [condition] });
    await world.settle();
    expect(world.condition("PodScheduled")).toMatchObject(condition);
  });

  test.for([
    ["False", "PodSchedulingUnknown"],
    ["True", "PodScheduled"],
  ] as const)("9.3 #58 PodScheduled %s without a reason is reported as %s", async ([status, reason]) => {
    await world.create();
    await world.settle();
    await world.podReports({ phase: "Pending", conditions: [{ type: "PodScheduled", status }] });
    await world.settle(15_000);
    expect(world.condition("PodScheduled")).toMatchObject({ status, reason });
  });

  test("9.3 #59 a ready Pod without an address does not make the Sandbox ready", async () => {
    await world.create();
    await world.settle();
    await world.podReports({ ...runningPod, podIPs: [] });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "False", message: "Pod is Ready but has no podIPs yet" });
  });

  test("9.3 #60 a Service counts when it is asked for, and only then", async () => {
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

  test("9.3 #61 a ready Sandbox has three conditions, however often it is looked at", async () => {
    await world.createRunning();
    for (let round = 0; round < 20; round++) {
      await world.edit({ metadata: { labels: { round: String(round) } } });
      await world.settle();
    }
    expect(world.conditionTypes).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  test("9.3 #62 that a Pod has a node is written with the next news (weakness 32: PodScheduled too)", async () => {
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

  test("the node of a Pod that takes long to start is shown after ten seconds", async () => {
    await world.create();
    await world.settle();
    await world.editPod({ spec: { nodeName: "node-1" } });
    await world.podReports({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] });
    await world.settle(11_000);
    expect(world.sandbox()?.status?.nodeName).toBe("node-1");
    expect(world.condition("PodScheduled")?.status).toBe("True");
  });

  test("a copied scheduling reason never breaks our own schema (weakness 15)", async () => {
    await world.create();
    await world.settle();
    const bad = { type: "PodScheduled", status: "False", reason: "no room!", message: "m".repeat(40_000) };
    await world.podReports({ phase: "Pending", conditions: [bad] });
    await world.settle();
    expect(world.condition("PodScheduled")).toMatchObject({ reason: "no_room", message: "m".repeat(32_768) });
  });

  test("weakness 21: an error that passes takes nothing from a Sandbox that serves", async () => {
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

describe("decide() on what is unknown", () => {
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
  const lost = { step: "pod", message: "Cannot get Pod: the answer was lost", isPassing: true } as const;
  const decided = (spec: object, over: Partial<Observed>): (Condition | undefined)[] => {
    const { status } = decide(seen(spec, over), 0, defaultSettings);
    return ["Suspended", "PodScheduled", "Ready"].map((type) => status?.conditions?.find((one) => one.type === type));
  };

  test("9.3 #53 suspended, and nobody knows whether there is a Pod", () => {
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

  test("9.3 #55 running, and nobody knows whether there is a Pod", () => {
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

  test("9.3 #60 with a ready Pod, a Service that is asked for and missing is what keeps the Sandbox from being ready", () => {
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

  test("9.3 #63 several Pods are told alone, whatever else is wrong", () => {
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

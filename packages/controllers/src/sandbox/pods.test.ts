import { type Pod } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import {
  deployment,
  hash,
  hashLabel,
  name,
  namespace,
  newPod,
  ownedBy,
  podTemplate,
  runningPod,
  SandboxWorld,
} from "./sandbox-world.test.support.ts";

const podName = "agents.x-k8s.io/pod-name";

describe("the Pod of a Sandbox", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const labels = (): Record<string, string> => world.pod()?.metadata?.labels ?? {};

  test("creates a Pod with the Sandbox's name and no Service for a minimal Sandbox (POD-1)", async () => {
    const { metadata } = await world.create();
    await world.settle();
    expect(world.pod()?.metadata).toMatchObject({
      name,
      labels: { [hashLabel]: hash },
      ownerReferences: [ownedBy({ metadata })],
    });
    expect(world.pod()?.spec).toEqual({ containers: [{ name: "c", image: "host" }] });
    expect(world.service()).toBeUndefined();
    expect(world.sandbox()?.status?.selector).toBe(`${hashLabel}=${hash}`);
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "DependenciesNotReady" });
    expect(world.podNameNote).toBe(name);
  });

  test.for([
    ["a Pod without controller that has the adoptable label", { "agents.x-k8s.io/adoptable": "true" }],
    ["a Pod without controller that has the Sandbox's name hash", { [hashLabel]: hash }],
  ] as const)("adopts %s in one patch and does not change its spec (POD-2)", async ([, given]) => {
    await world.user.create(pods, newPod({ labels: given }));
    const { spec } = world.pod() as Pod;
    const writes = await world.writesDuring(async () => {
      await world.create();
      await world.settle();
    });
    expect(world.pod()).toMatchObject({
      metadata: { ownerReferences: [ownedBy(world.sandbox())], labels: given },
      spec,
    });
    expect(labels()[hashLabel]).toBe(hash);
    expect(world.podNameNote).toBe(name);
    expect(writes).toMatchObject({ "patch pods": 1 });
    expect(writes).not.toHaveProperty("create pods");
  });

  test("reports a Pod without controller and without adoption label and leaves it alone (POD-3)", async () => {
    const stranger = await world.user.create(pods, newPod());
    await world.create();
    await world.settle();
    expect(world.pod()).toEqual(stranger);
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
    expect(world.sandbox()?.status).not.toHaveProperty("nodeName");
    await world.user.delete(pods, { namespace, name });
    await world.settle();
    expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
  });

  test("reports a Pod of another controller, leaves it alone and drops the pod-name annotation (POD-4)", async () => {
    const keeper = await world.create({ name: "keeper", spec: { operatingMode: "Suspended" } });
    // A second, living owner keeps garbage collection away.
    const ownerReferences = [deployment, { ...ownedBy(keeper), controller: false }];
    const stranger = await world.user.create(pods, newPod({ ownerReferences }));
    await world.create({ annotations: { [podName]: name, other: "kept" } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({
      status: "False",
      reason: "ReconcilerError",
      message: expect.stringContaining("ReplicaSet") as unknown,
    });
    expect(world.pod()).toEqual(stranger);
    expect(world.sandbox()?.metadata.annotations).toEqual({ other: "kept" });
  });

  test("replaces a pod-name annotation of a missing Pod by the new Pod's name in one write (POD-5)", async () => {
    const writes = await world.writesDuring(async () => {
      await world.create({ annotations: { [podName]: "long-gone" } });
      await world.settle();
    });
    expect(world.pod()).toBeDefined();
    expect(world.podNameNote).toBe(name);
    expect(writes).toMatchObject({ "create pods": 1, "patch sandboxes": 1 });
  });

  test("corrects a pod-name annotation of a missing Pod to the Pod that the Sandbox owns (POD-6)", async () => {
    const sandbox = await world.create({
      spec: { operatingMode: "Suspended" },
      annotations: { [podName]: "long-gone" },
    });
    await world.user.create(pods, newPod({ name: "survivor", ownerReferences: [ownedBy(sandbox)] }));
    await world.setMode("Running");
    await world.settle();
    expect(world.podNameNote).toBe("survivor");
    expect(world.server.readAll(pods).map((pod) => pod.metadata?.name)).toEqual(["survivor"]);
  });

  test("prefers an owned Pod to an adoptable Pod that the pod-name annotation names (POD-7)", async () => {
    const sandbox = await world.create({
      spec: { operatingMode: "Suspended" },
      annotations: { [podName]: "tempting" },
    });
    const adoptable = { "agents.x-k8s.io/adoptable": "true" };
    await world.user.create(pods, newPod({ name: "tempting", labels: adoptable }));
    await world.user.create(pods, newPod({ name: "survivor", ownerReferences: [ownedBy(sandbox)] }));
    await world.setMode("Running");
    await world.settle();
    expect(world.podNameNote).toBe("survivor");
    expect(world.pod("tempting")?.metadata?.ownerReferences).toBeUndefined();
  });

  test("creates, deletes and chooses no Pod when the Sandbox owns two, and reports it with one event (POD-9)", async () => {
    await world.createRunning({ spec: { service: true } });
    const second = newPod({ name: "second", ownerReferences: [ownedBy(world.sandbox())] });
    const writes = await world.writesDuring(async () => {
      await world.user.create(pods, second);
      await world.settle();
    });
    expect(writes).toEqual({ "create pods": 1, "patch sandboxes/status": 1, "create events": 1 });
    expect(world.condition("Ready")).toMatchObject({
      status: "False",
      reason: "MultiplePods",
      message: expect.stringMatching(/^multiple Pods \(2\)/) as unknown,
    });
    expect(world.sandbox()?.status).not.toHaveProperty("podIPs");
    expect(world.sandbox()?.status).not.toHaveProperty("nodeName");
    expect(world.events).toMatchObject([{ type: "Warning", reason: "MultiplePods", action: "Reconciling" }]);
    await world.edit({ metadata: { labels: { touched: "1" } } });
    await world.settle();
    expect(world.events).toHaveLength(1);
    expect(world.warnings).toEqual([]);
    await world.user.delete(pods, { namespace, name: "second" });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });

  test("ignores Pods of an earlier Sandbox with the same name (POD-10)", async () => {
    const stale = { ...ownedBy({ metadata: { name, uid: "00000000-0000-4000-8000-0000000000ee" } }) };
    const sandbox = await world.create({ spec: { operatingMode: "Suspended" } });
    // A second, living owner keeps garbage collection away.
    const owners = [stale, { ...ownedBy(sandbox), controller: false }];
    await world.user.create(pods, newPod({ name: "old-1", labels: { [hashLabel]: hash }, ownerReferences: owners }));
    await world.user.create(pods, newPod({ name: "old-2", labels: { [hashLabel]: hash }, ownerReferences: owners }));
    await world.setMode("Running");
    await world.settle();
    expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(sandbox)]);
    expect(world.condition("Ready")?.reason).toBe("DependenciesNotReady");
  });

  test("adopts an adoptable Pod that took the name before the create (POD-12)", async () => {
    // The cache learns of the stranger only after the attempt.
    world.server.watchDelayMs = ({ plural }) => (plural === "pods" ? 500 : 0);
    const adoptable = { "agents.x-k8s.io/adoptable": "true" };
    await world.settle();
    await world.user.create(pods, newPod({ labels: adoptable }));
    await world.create();
    await world.settle(10_000);
    expect(world.server.requests.get("create pods")).toBe(2);
    expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
  });

  test("reports a Pod that took the name before the create and may not be adopted (POD-12)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "pods" ? 500 : 0);
    await world.settle();
    const stranger = await world.user.create(pods, newPod());
    await world.create();
    await world.settle(10_000);
    expect(world.attempts.get("create pods")).toBe(1);
    expect(world.pod()).toEqual(stranger);
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
  });

  test.for([
    ["Succeeded", "PodSucceeded", "Pod completed successfully"],
    ["Failed", "PodFailed", "Pod failed"],
  ] as const)(
    "sets Finished when the Pod has %s, until the Pod is deleted (RECOVER-1)",
    async ([phase, reason, message]) => {
      await world.createRunning({ spec: podTemplate({}, { restartPolicy: "Never" }) });
      await world.podReports({ phase });
      await world.settle(600_000);
      expect(world.condition("Finished")).toMatchObject({ status: "True", reason, message });
      expect(world.condition("Ready")).toMatchObject({ status: "False", reason, message });
      expect(world.server.writes.get("create pods")).toBe(1);
      await world.user.delete(pods, { namespace, name });
      await world.settle();
      expect(world.server.writes.get("create pods")).toBe(2);
      expect(world.condition("Finished")).toBeUndefined();
    },
  );

  test("replaces a Pod that was deleted while running and does not change Suspended (RECOVER-2)", async () => {
    await world.createRunning();
    const before = world.condition("Suspended");
    await world.settle(5_000);
    await world.user.delete(pods, { namespace, name });
    await world.settle();
    expect(world.condition("Ready")?.status).toBe("False");
    await world.podReports(runningPod);
    await world.settle();
    expect(world.condition("Ready")?.status).toBe("True");
    expect(world.condition("Suspended")).toEqual(before);
  });

  test("reports both addresses of a dual-stack Pod in order (STATUS-7)", async () => {
    await world.create();
    await world.settle();
    await world.podReports({ ...runningPod, podIPs: [{ ip: "10.0.0.2" }, { ip: "fd00::2" }] });
    await world.settle();
    expect(world.sandbox()?.status?.podIPs).toEqual(["10.0.0.2", "fd00::2"]);
  });

  const volumes = [
    { name: "a", emptyDir: {} },
    { name: "data", emptyDir: {} },
    { name: "b", emptyDir: {} },
  ];

  test("replaces the template's volume by the volume claim of the same name, after the other volumes (VOLUME-6)", async () => {
    const spec = podTemplate({}, { volumes });
    await world.create({ spec: { ...spec, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } });
    await world.settle();
    expect(world.pod()?.spec?.volumes).toEqual([
      { name: "a", emptyDir: {} },
      { name: "b", emptyDir: {} },
      { name: "data", persistentVolumeClaim: { claimName: "data-my-sandbox" } },
    ]);
  });

  test("leaves the template's volumes unchanged without volume claim templates (VOLUME-7)", async () => {
    await world.create({ spec: podTemplate({}, { volumes }) });
    await world.settle();
    expect(world.pod()?.spec?.volumes).toEqual(volumes);
  });

  test("drops a pod-name annotation of a Pod that may not be adopted and creates a Pod (POD-8)", async () => {
    await world.user.create(pods, newPod({ name: "stranger" }));
    await world.create({ annotations: { [podName]: "stranger" } });
    await world.settle();
    expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
    expect(world.pod("stranger")?.metadata?.ownerReferences).toBeUndefined();
    expect(world.podNameNote).toBe(name);
  });
});

test("creates no new Pod while the old one is terminating (POD-11)", async () => {
  await using world = new SandboxWorld({ gracefulPods: true });
  await world.createRunning();
  const first = world.pod()?.metadata?.uid;
  await world.user.delete(pods, { namespace, name });
  await world.settle(60_000);
  expect(world.pod()?.metadata?.uid).toBe(first);
  await world.finishPod();
  await world.settle();
  expect(world.pod()?.metadata?.uid).not.toBe(first);
  expect(world.server.writes.get("create pods")).toBe(2);
});

test("reports a Sandbox as not Ready while its Pod is terminating, although the Pod is Ready (STATUS-12)", async () => {
  await using world = new SandboxWorld({ gracefulPods: true });
  await world.createRunning();
  await world.user.delete(pods, { namespace, name });
  await world.settle();
  expect(world.condition("Ready")).toMatchObject({
    status: "False",
    reason: "DependenciesNotReady",
    message: "Pod is terminating",
  });
  expect(world.sandbox()?.status?.podIPs).toEqual(["10.0.0.2"]);
  await world.finishPod();
  await world.settle();
  await world.podReports(runningPod);
  await world.settle();
  expect(world.condition("Ready")).toMatchObject({ status: "True" });
});

import { type Pod, type Sandbox, sandboxes } from "@agent-sandbox/api";
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

const listOfLabels = "agents.x-k8s.io/propagated-labels";
const listOfAnnotations = "agents.x-k8s.io/propagated-annotations";
const poolLabel = "agents.x-k8s.io/warm-pool-sandbox";
const templateLabel = "agents.x-k8s.io/sandbox-template-ref-hash";
const createdBy = "agents.x-k8s.io/created-by";
const podName = "agents.x-k8s.io/pod-name";

const extensionOwner = (kind: string) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1alpha1",
  kind,
  name: "owner",
  uid: "00000000-0000-4000-8000-00000000aaaa",
  controller: true,
});

describe("the Sandbox controller and Pods", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const labels = (): Record<string, string> => world.pod()?.metadata?.labels ?? {};
  const annotations = (): Record<string, string> => world.pod()?.metadata?.annotations ?? {};
  /** The owner must exist, or garbage collection takes the Sandbox. */
  async function createOwned(
    kind: string,
    parts: { labels?: Record<string, string>; annotations?: Record<string, string> },
  ): Promise<void> {
    const owner = await world.user.create(sandboxes, {
      ...ownerStandIn,
      metadata: { name: "owner", namespace },
    });
    const reference = { ...extensionOwner(kind), uid: owner.metadata.uid ?? "" };
    await world.create({ metadata: { ownerReferences: [reference] }, ...parts });
    await world.settle();
  }

  test("9.2 #22 a minimal Sandbox gets a Pod of its name, and no Service", async () => {
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

  test("9.2 #23 the template's metadata is copied, and the keys are listed sorted", async () => {
    await world.create({ spec: podTemplate({ labels: { b: "2", a: "1" }, annotations: { note: "n" } }) });
    await world.settle();
    expect(labels()).toEqual({ a: "1", b: "2", [hashLabel]: hash });
    expect(annotations()).toEqual({ note: "n", [listOfLabels]: "a,b", [listOfAnnotations]: "note" });
  });

  test("9.2 #24 without template metadata there are no lists", async () => {
    await world.create();
    await world.settle();
    expect(annotations()).toEqual({});
  });

  test("9.2 #25 reserved keys of the template never reach the Pod", async () => {
    const metadata = {
      labels: { [hashLabel]: "evil", "extensions.agents.x-k8s.io/x": "y", "agents.x-k8s.io/claim-uid": "u", ok: "1" },
      annotations: { [podName]: "evil", "opentelemetry.io/trace-context": "{}" },
    };
    await world.create({ spec: podTemplate(metadata) });
    await world.settle();
    expect(labels()).toEqual({ ok: "1", [hashLabel]: hash });
    expect(annotations()).toEqual({ [listOfLabels]: "ok" });
  });

  test("9.2 #26 reserved keys that an older controller leaked are scrubbed from Pod and lists", async () => {
    await world.create({ spec: podTemplate({ labels: { ok: "1" } }) });
    await world.settle();
    const leaked = { "agents.x-k8s.io/claim-uid": "u", "opentelemetry.io/trace-context": "{}" };
    await world.editPod({
      metadata: {
        labels: { "agents.x-k8s.io/claim-uid": "u" },
        annotations: {
          ...leaked,
          [listOfLabels]: `agents.x-k8s.io/claim-uid,${hashLabel},ok`,
          [listOfAnnotations]: Object.keys(leaked).join(","),
        },
      },
    });
    await world.settle();
    expect(labels()).toEqual({ ok: "1", [hashLabel]: hash });
    expect(annotations()).toEqual({ [listOfLabels]: "ok", [listOfAnnotations]: "" });
  });

  test("9.2 #27 a reserved label that was never listed stays", async () => {
    await world.create();
    await world.settle();
    await world.editPod({ metadata: { labels: { "agents.x-k8s.io/mystery": "1" } } });
    await world.edit({ spec: podTemplate({ labels: { a: "1" } }) });
    await world.settle();
    expect(labels()).toEqual({ a: "1", "agents.x-k8s.io/mystery": "1", [hashLabel]: hash });
  });

  test("9.2 #28 what the template drops is dropped from the Pod; what others added stays", async () => {
    await world.create({ spec: podTemplate({ labels: { a: "1", b: "2" }, annotations: { n: "1" } }) });
    await world.settle();
    await world.editPod({ metadata: { annotations: { "kubernetes.io/psp": "x" }, labels: { istio: "y" } } });
    await world.edit({ spec: { podTemplate: { metadata: { labels: { b: null, a: "changed" }, annotations: null } } } });
    await world.settle();
    expect(labels()).toEqual({ a: "changed", istio: "y", [hashLabel]: hash });
    expect(annotations()).toEqual({ "kubernetes.io/psp": "x", [listOfLabels]: "a", [listOfAnnotations]: "" });
  });

  test("9.2 #29 a bare Sandbox's own pool and template labels do not reach the Pod", async () => {
    await world.create({ labels: { [poolLabel]: "p", [templateLabel]: "t" } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test("9.2 #30 the pool's label is on the Pod as long as the pool controls the Sandbox", async () => {
    await createOwned("SandboxWarmPool", { labels: { [poolLabel]: "p" } });
    expect(labels()).toMatchObject({ [poolLabel]: "p" });
    await world.editPod({ metadata: { labels: { [poolLabel]: null } } });
    await world.settle();
    expect(labels()).toMatchObject({ [poolLabel]: "p" });
    await world.edit({ metadata: { ownerReferences: null } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test("9.2 #30 a pool's word to the autoscaler is on the Pod for as long, unless the template has one (10.4.29)", async () => {
    const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict";
    const said = (): unknown => world.pod()?.metadata?.annotations?.[evictable];
    await createOwned("SandboxWarmPool", { annotations: { [evictable]: "true" } });
    expect(said()).toBe("true");
    const template = (annotations: object | null): object => ({ spec: { podTemplate: { metadata: { annotations } } } });
    await world.edit(template({ [evictable]: "false" }));
    await world.settle();
    expect(said()).toBe("false");
    await world.edit(template(null));
    await world.settle();
    expect(said()).toBe("true");
    await world.edit({ metadata: { ownerReferences: null } });
    await world.settle();
    expect(said()).toBeUndefined();
  });

  test("9.2 #31 the template's hash is on the Pod of a claimed Sandbox, and goes with label or owner", async () => {
    await createOwned("SandboxClaim", { labels: { [templateLabel]: "t" } });
    expect(labels()).toMatchObject({ [templateLabel]: "t" });
    await world.edit({ metadata: { labels: { [templateLabel]: null } } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
    await world.edit({ metadata: { labels: { [templateLabel]: "t" } } });
    await world.settle();
    expect(labels()).toMatchObject({ [templateLabel]: "t" });
    await world.edit({ metadata: { ownerReferences: null } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test("9.2 #32 who made the Sandbox is on the Pod in one of few words", async () => {
    await world.create({ labels: { [createdBy]: "go-client" } });
    await world.settle();
    expect(labels()).toMatchObject({ [createdBy]: "go-client" });
    await world.edit({ metadata: { labels: { [createdBy]: "my-script-17" } } });
    await world.settle();
    expect(labels()).toMatchObject({ [createdBy]: "unknown" });
    await world.edit({ metadata: { labels: { [createdBy]: null } } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test.for([
    ["9.2 #33 an unowned Pod that says it is adoptable", { "agents.x-k8s.io/adoptable": "true" }],
    ["9.2 #34 an unowned Pod that carries the Sandbox's hash", { [hashLabel]: hash }],
  ] as const)("%s is adopted in one patch, its spec left alone", async ([, given]) => {
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

  test("9.2 #34 adoption drops what the template dropped while nobody owned the Pod", async () => {
    const labels = { [hashLabel]: hash, old: "1", foreign: "2" };
    await world.user.create(pods, newPod({ labels, annotations: { [listOfLabels]: "old" } }));
    const attempts = await world.attemptsDuring(async () => {
      await world.create({ spec: podTemplate({ labels: { fresh: "3" } }) });
      await world.settle();
    });
    expect(world.pod()?.metadata?.labels).toEqual({ [hashLabel]: hash, fresh: "3", foreign: "2" });
    expect(attempts["patch pods"]).toBe(1);
  });

  test("9.2 #35 an unowned Pod without either label is an error and stays unowned", async () => {
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

  test("9.2 #36 a Pod of somebody else's is an error, is left alone, and loses the note", async () => {
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

  test("9.2 #37 a note of a missing Pod is replaced by that of a new one, in one write (weakness 31)", async () => {
    const writes = await world.writesDuring(async () => {
      await world.create({ annotations: { [podName]: "long-gone" } });
      await world.settle();
    });
    expect(world.pod()).toBeDefined();
    expect(world.podNameNote).toBe(name);
    expect(writes).toMatchObject({ "create pods": 1, "patch sandboxes": 1 });
  });

  test("9.2 #38 a note of a missing Pod is repaired to the Pod that is owned", async () => {
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

  test("9.2 #39 an owned Pod wins over an adoptable one that the note names", async () => {
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

  test("9.2 #40 with two Pods of its own nothing is made, deleted or chosen, and one event tells", async () => {
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

  test("9.2 #41 Pods of an earlier Sandbox of the same name are not its own", async () => {
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

  test("9.2 #43 when the name is taken in the meantime, the Pod there is handled by who owns it", async () => {
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

  test("9.2 #43 one that is not the Sandbox's to adopt stays as it is, and the Sandbox says so", async () => {
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
  ] as const)("9.2 #44 a Pod that %s finishes the Sandbox until it is deleted", async ([phase, reason, message]) => {
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
  });

  test("9.2 #45 a Pod lost while running is replaced, and Suspended does not flicker", async () => {
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

  test("9.2 #46 both addresses of a dual-stack Pod are reported in order", async () => {
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

  test("9.2 #47 a claimed volume replaces the template's of the same name, after the others", async () => {
    const spec = podTemplate({}, { volumes });
    await world.create({ spec: { ...spec, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } });
    await world.settle();
    expect(world.pod()?.spec?.volumes).toEqual([
      { name: "a", emptyDir: {} },
      { name: "b", emptyDir: {} },
      { name: "data", persistentVolumeClaim: { claimName: "data-my-sandbox" } },
    ]);
  });

  test("9.2 #48 without volume claim templates the template's volumes are unchanged", async () => {
    await world.create({ spec: podTemplate({}, { volumes }) });
    await world.settle();
    expect(world.pod()?.spec?.volumes).toEqual(volumes);
  });

  test("weakness 18: a note that leads to an unauthorised Pod is dropped, and the Sandbox gets its own", async () => {
    await world.user.create(pods, newPod({ name: "stranger" }));
    await world.create({ annotations: { [podName]: "stranger" } });
    await world.settle();
    expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
    expect(world.pod("stranger")?.metadata?.ownerReferences).toBeUndefined();
    expect(world.podNameNote).toBe(name);
  });
});

test("9.2 #42 while its Pod terminates, a running Sandbox gets no other", async () => {
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

test("a Sandbox whose Pod terminates is not Ready and says why, though the Pod still is (weakness 25)", async () => {
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

const ownerStandIn: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {},
  spec: { operatingMode: "Suspended", podTemplate: { spec: { containers: [] } } },
};

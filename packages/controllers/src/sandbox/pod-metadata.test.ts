import { podSpecHashAnnotation, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { hash, hashLabel, namespace, newPod, podTemplate, SandboxWorld } from "./sandbox-world.test.support.ts";

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

describe("labels and annotations of the Pod of a Sandbox", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const labels = (): Record<string, string> => world.pod()?.metadata?.labels ?? {};
  /** Without the mark of the spec, which no metadata affects. */
  const annotations = (): Record<string, string> => {
    const { [podSpecHashAnnotation]: _, ...others } = world.pod()?.metadata?.annotations ?? {};
    return others;
  };
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

  test("copies labels and annotations of the template and lists their keys sorted (META-1)", async () => {
    await world.create({ spec: podTemplate({ labels: { b: "2", a: "1" }, annotations: { note: "n" } }) });
    await world.settle();
    expect(labels()).toEqual({ a: "1", b: "2", [hashLabel]: hash });
    expect(annotations()).toEqual({ note: "n", [listOfLabels]: "a,b", [listOfAnnotations]: "note" });
  });

  test("writes no list of copied keys when the template has no metadata (META-2)", async () => {
    await world.create();
    await world.settle();
    expect(annotations()).toEqual({});
  });

  test("does not copy reserved keys from the template to the Pod (META-3)", async () => {
    const metadata = {
      labels: { [hashLabel]: "evil", "extensions.agents.x-k8s.io/x": "y", "agents.x-k8s.io/claim-uid": "u", ok: "1" },
      annotations: { [podName]: "evil", "opentelemetry.io/trace-context": "{}" },
    };
    await world.create({ spec: podTemplate(metadata) });
    await world.settle();
    expect(labels()).toEqual({ ok: "1", [hashLabel]: hash });
    expect(annotations()).toEqual({ [listOfLabels]: "ok" });
  });

  test("removes reserved keys that an older controller copied, from the Pod and from the lists (META-4)", async () => {
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

  test("keeps a reserved label on the Pod that is in no list (META-5)", async () => {
    await world.create();
    await world.settle();
    await world.editPod({ metadata: { labels: { "agents.x-k8s.io/mystery": "1" } } });
    await world.edit({ spec: podTemplate({ labels: { a: "1" } }) });
    await world.settle();
    expect(labels()).toEqual({ a: "1", "agents.x-k8s.io/mystery": "1", [hashLabel]: hash });
  });

  test("removes keys from the Pod that the template drops and keeps keys that others added (META-6)", async () => {
    await world.create({ spec: podTemplate({ labels: { a: "1", b: "2" }, annotations: { n: "1" } }) });
    await world.settle();
    await world.editPod({ metadata: { annotations: { "kubernetes.io/psp": "x" }, labels: { istio: "y" } } });
    await world.edit({ spec: { podTemplate: { metadata: { labels: { b: null, a: "changed" }, annotations: null } } } });
    await world.settle();
    expect(labels()).toEqual({ a: "changed", istio: "y", [hashLabel]: hash });
    expect(annotations()).toEqual({ "kubernetes.io/psp": "x", [listOfLabels]: "a", [listOfAnnotations]: "" });
  });

  test("does not copy pool and template labels of a Sandbox without a pool or claim (META-7)", async () => {
    await world.create({ labels: { [poolLabel]: "p", [templateLabel]: "t" } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test("keeps the pool label on the Pod while the pool controls the Sandbox (META-8)", async () => {
    await createOwned("SandboxWarmPool", { labels: { [poolLabel]: "p" } });
    expect(labels()).toMatchObject({ [poolLabel]: "p" });
    await world.editPod({ metadata: { labels: { [poolLabel]: null } } });
    await world.settle();
    expect(labels()).toMatchObject({ [poolLabel]: "p" });
    await world.edit({ metadata: { ownerReferences: null } });
    await world.settle();
    expect(labels()).toEqual({ [hashLabel]: hash });
  });

  test("keeps the pool's safe-to-evict on the Pod while the pool controls the Sandbox, unless the template sets it (META-9)", async () => {
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

  test("keeps the template hash on the Pod of a claimed Sandbox until the label or the owner is removed (META-10)", async () => {
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

  test("labels the Pod with a known creator, or as unknown (META-11)", async () => {
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

  test("removes labels from an adopted Pod that the template no longer has (META-6)", async () => {
    const labels = { [hashLabel]: hash, old: "1", foreign: "2" };
    await world.user.create(pods, newPod({ labels, annotations: { [listOfLabels]: "old" } }));
    const attempts = await world.attemptsDuring(async () => {
      await world.create({ spec: podTemplate({ labels: { fresh: "3" } }) });
      await world.settle();
    });
    expect(world.pod()?.metadata?.labels).toEqual({ [hashLabel]: hash, fresh: "3", foreign: "2" });
    expect(attempts["patch pods"]).toBe(1);
  });
});

const ownerStandIn: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {},
  spec: { operatingMode: "Suspended", podTemplate: { spec: { containers: [] } } },
};

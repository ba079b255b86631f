import {
  adoptableLabel,
  controllerReference,
  findCondition,
  isConditionTrue,
  type Pod,
  type Sandbox,
  type SandboxSpec,
} from "@agent-sandbox/api";
import { pods, services, volumeClaims } from "@agent-sandbox/controllers";
import { controllerOf, type KubeObject } from "@agent-sandbox/kube";
import { beforeAll, expect, test } from "vitest";
import { namespace, type SandboxServer } from "./sandbox-server.ts";

const isReady = (sandbox: Sandbox | undefined): boolean => isConditionTrue(sandbox?.status?.conditions, "Ready");
const isSuspended = (sandbox: Sandbox | undefined): boolean =>
  isConditionTrue(sandbox?.status?.conditions, "Suspended");
const hasFailed = (sandbox: Sandbox | undefined): boolean =>
  findCondition(sandbox?.status?.conditions, "Ready")?.reason === "ReconcilerError";
const hasOwner = (object: KubeObject | undefined): boolean =>
  object !== undefined && controllerOf(object) !== undefined;
const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const volumeOf = (name: string): NonNullable<SandboxSpec["volumeClaimTemplates"]> => [
  { metadata: { name }, spec: storage },
];
const podName = "agents.x-k8s.io/pod-name";

/** What the Pod, the Service and the volume claims of a Sandbox are made of. Part of sandbox-suite.ts. */
export function describeChildren(getWorld: () => SandboxServer): void {
  let world: SandboxServer;
  beforeAll(() => {
    world = getWorld();
  });

  const readyPod = async (name: string): Promise<Pod> => {
    await world.until(name, isReady);
    return world.client.get(pods, { namespace, name });
  };
  const withPorts = (ports: readonly object[], more: object = {}): Partial<SandboxSpec> => {
    const { containers, ...rest } = world.podSpec;
    const spec = { ...rest, ...more, containers: containers.map((container) => ({ ...container, ports })) };
    return { service: true, podTemplate: { spec } } as Partial<SandboxSpec>;
  };
  const portsOf = async (name: string): Promise<unknown[]> => {
    await world.until(name, isReady);
    const { spec } = await world.client.get(services, { namespace, name });
    return (spec?.ports ?? []).map(({ name: port, port: number }) => [port, number]);
  };

  test("a Pod has no lists of copied keys without template metadata, and no reserved keys (META-2, META-3)", async () => {
    await world.create("plain-template");
    const reserved = { "agents.x-k8s.io/claim-uid": "forged", "extensions.agents.x-k8s.io/x": "y" };
    const metadata = { labels: { ...reserved, team: "a" }, annotations: { "agents.x-k8s.io/pod-name": "forged" } };
    await world.create("reserved-keys", { podTemplate: { metadata, spec: world.podSpec } });
    const plain = await readyPod("plain-template");
    const lists = Object.keys(plain.metadata?.annotations ?? {}).filter((key) => key.includes("propagated"));
    expect(lists).toEqual([]);
    const copied = await readyPod("reserved-keys");
    expect(copied.metadata?.labels).toMatchObject({ team: "a" });
    for (const key of Object.keys(reserved)) expect(copied.metadata?.labels).not.toHaveProperty([key]);
    expect(copied.metadata?.annotations).not.toHaveProperty([podName]);
  });

  test("labels of pools and templates stay on a Sandbox that nobody controls, unknown creators are hidden (META-7, META-11)", async () => {
    const labels = {
      "agents.x-k8s.io/warm-pool-sandbox": "0a1b2c3d",
      "agents.x-k8s.io/sandbox-template-ref-hash": "0a1b2c3d",
      "agents.x-k8s.io/created-by": "somebody",
    };
    await world.create("not-pooled", {}, { labels });
    const pod = await readyPod("not-pooled");
    expect(pod.metadata?.labels).not.toHaveProperty(["agents.x-k8s.io/warm-pool-sandbox"]);
    expect(pod.metadata?.labels).not.toHaveProperty(["agents.x-k8s.io/sandbox-template-ref-hash"]);
    expect(pod.metadata?.labels).toMatchObject({ "agents.x-k8s.io/created-by": "unknown" });
  });

  test("a Service has each port once, sorted, with its name or a generated one (SERVICE-2, SERVICE-4)", async () => {
    const ports = [
      { containerPort: 9090 },
      { name: "web", containerPort: 8080 },
      { name: "p-9090-tcp", containerPort: 7070 },
    ];
    const { containers, ...rest } = world.podSpec;
    const named = ["one", "two"].map((name, index) => ({
      ...containers[0],
      name,
      ports: index === 0 ? ports : [{ containerPort: 8080 }],
    }));
    const podTemplate = { spec: { ...rest, containers: named } } as SandboxSpec["podTemplate"];
    await world.create("ported", { service: true, podTemplate });
    expect(await portsOf("ported")).toEqual([
      ["p-9090-tcp", 7070],
      ["web", 8080],
      ["p-9090-tcp-2", 9090],
    ]);
  });

  test("a Service has the ports of sidecars, and not those of other init containers (SERVICE-5)", async () => {
    const [container] = world.podSpec.containers;
    const sidecar = {
      ...container,
      name: "sidecar",
      restartPolicy: "Always",
      ports: [{ name: "side", containerPort: 7001 }],
    };
    await world.create(
      "with-sidecar",
      withPorts([{ name: "main", containerPort: 7000 }], { initContainers: [sidecar] }),
    );
    expect(await portsOf("with-sidecar")).toEqual([
      ["main", 7000],
      ["side", 7001],
    ]);
  });

  test("when the spec names no Service, an owned one stays and another is ignored (SERVICE-8, SERVICE-9)", async () => {
    const ports = [{ name: "web", containerPort: 8080 }];
    await world.create("keeps-service", withPorts(ports));
    await world.until("keeps-service", isReady);
    await world.edit("keeps-service", { spec: { service: null } });
    const body = { spec: { selector: { app: "somebody-else" } } };
    await world.client.patch(services, { namespace, name: "keeps-service" }, { type: "merge", body });
    const selectorOf = (object?: KubeObject): object =>
      (object as { spec?: { selector?: object } })?.spec?.selector ?? {};
    await world.untilObject("services", "keeps-service", (seen) => seen !== undefined && !("app" in selectorOf(seen)));
    expect(await portsOf("keeps-service")).toEqual([["web", 8080]]);
    const mine = { clusterIP: "None", selector: { app: "mine" } };
    await world.client.create(services, { metadata: { name: "ignores-service", namespace }, spec: mine });
    await world.create("ignores-service");
    const { status } = (await world.until("ignores-service", isReady)) ?? {};
    expect(status?.service ?? "").toBe("");
    const kept = await world.client.get(services, { namespace, name: "ignores-service" });
    expect([kept.spec?.selector, hasOwner(kept)]).toEqual([mine.selector, false]);
    await world.client.delete(services, { namespace, name: "ignores-service" });
  });

  test("an adoptable headless Service gets the Sandbox's selector and ports (SERVICE-11)", async () => {
    const labels = { [adoptableLabel]: "true" };
    const spec = { clusterIP: "None", selector: { app: "mine" }, ports: [{ name: "old", port: 1 }] };
    await world.client.create(services, { metadata: { name: "takes-service", namespace, labels }, spec });
    await world.create("takes-service", withPorts([{ name: "web", containerPort: 8080 }]));
    expect(await portsOf("takes-service")).toEqual([["web", 8080]]);
    const taken = await world.client.get(services, { namespace, name: "takes-service" });
    expect([hasOwner(taken), Object.keys(taken.spec?.selector ?? {})]).toEqual([
      true,
      ["agents.x-k8s.io/sandbox-name-hash"],
    ]);
  });

  test("a volume claim without an owner is adopted only with a label that allows it (VOLUME-3, VOLUME-4)", async () => {
    const create = (name: string, labels: Record<string, string>): Promise<KubeObject> =>
      world.client.create(volumeClaims, { metadata: { name, namespace, labels }, spec: storage });
    await create("data-offered-volume", { [adoptableLabel]: "true" });
    await create("data-strange-volume", {});
    await world.create("offered-volume", { volumeClaimTemplates: volumeOf("data") });
    await world.create("strange-volume", { volumeClaimTemplates: volumeOf("data") });
    await world.until("offered-volume", isReady);
    await world.untilObject("volumeClaims", "data-offered-volume", hasOwner);
    await world.until("strange-volume", hasFailed);
    const key = { namespace, name: "data-strange-volume" };
    expect(hasOwner(await world.client.get(volumeClaims, key))).toBe(false);
    await world.client.patch(volumeClaims, key, {
      type: "merge",
      body: { metadata: { labels: { [adoptableLabel]: "true" } } },
    });
    await world.untilObject("volumeClaims", "data-strange-volume", hasOwner);
    expect(await world.until("strange-volume", isReady)).toBeDefined();
  });

  test("a volume claim replaces the template's volume of its name, the others stay (VOLUME-6, VOLUME-7)", async () => {
    const volumes = [
      { name: "first", emptyDir: {} },
      { name: "data", emptyDir: {} },
      { name: "last", emptyDir: {} },
    ];
    const podTemplate = { spec: { ...world.podSpec, volumes } };
    await world.create("replaces-volume", { podTemplate, volumeClaimTemplates: volumeOf("data") });
    await world.create("keeps-volumes", { podTemplate });
    const named = ({ spec }: Pod): unknown[] =>
      (spec?.volumes ?? [])
        .map(({ name, emptyDir, persistentVolumeClaim }) => [name, emptyDir ? "" : persistentVolumeClaim?.claimName])
        // The volume of the account's token.
        .filter(([name, claim]) => claim !== undefined && !String(name).startsWith("kube-api-access"));
    expect(named(await readyPod("replaces-volume"))).toEqual([
      ["first", ""],
      ["last", ""],
      ["data", "data-replaces-volume"],
    ]);
    expect(named(await readyPod("keeps-volumes"))).toEqual([
      ["first", ""],
      ["data", ""],
      ["last", ""],
    ]);
  });

  test("a Ready Sandbox has three conditions, and waits for a Service only if it asks for one (STATUS-4, STATUS-5)", async () => {
    await world.create("asks-nothing");
    const { status } = (await world.until("asks-nothing", isReady)) ?? {};
    expect(status?.conditions?.map(({ type }) => type).sort()).toEqual(["PodScheduled", "Ready", "Suspended"]);
    expect(findCondition(status?.conditions, "Ready")?.message).toBe("Pod is Ready");
    await world.create("asks-service", { service: true });
    const asking = await world.until("asks-service", isReady);
    expect(findCondition(asking?.status?.conditions, "Ready")?.message).toBe("Pod is Ready; Service Exists");
  });

  test("a pod-name annotation that names no Pod is replaced, or corrected to the Pod that exists (POD-5, POD-6)", async () => {
    await world.create("named-nothing", {}, { annotations: { [podName]: "never-was" } });
    const isCorrect = (sandbox: Sandbox | undefined): boolean =>
      isReady(sandbox) && sandbox?.metadata.annotations?.[podName] === "named-nothing";
    await world.until("named-nothing", isCorrect);
    const { metadata } = await world.client.get(pods, { namespace, name: "named-nothing" });
    await world.edit("named-nothing", { metadata: { annotations: { [podName]: "not-there" } } });
    await world.until("named-nothing", isCorrect);
    expect((await world.client.get(pods, { namespace, name: "named-nothing" })).metadata?.uid).toBe(metadata?.uid);
  });

  test("a Pod of another controller is not changed, and the error names that controller (POD-4)", async () => {
    // It exists, so that the garbage collector keeps the Pod.
    const holder = await world.client.create(services, {
      metadata: { name: "holder", namespace },
      spec: { clusterIP: "None", selector: { app: "mine" } },
    });
    const ownerReferences = [controllerReference(services, holder)];
    const spec = world.podSpec;
    const held = await world.client.create(pods, { metadata: { name: "held", namespace, ownerReferences }, spec });
    await world.create("held", {}, { annotations: { [podName]: "held" } });
    const told = await world.until("held", hasFailed);
    expect(findCondition(told?.status?.conditions, "Ready")?.message).toContain("holder");
    await world.until("held", (sandbox) => sandbox?.metadata.annotations?.[podName] === undefined);
    const kept = await world.client.get(pods, { namespace, name: "held" });
    expect([kept.metadata?.uid, kept.metadata?.labels ?? {}]).toEqual([held.metadata?.uid, {}]);
    await world.client.delete(services, { namespace, name: "holder" });
  });

  test("a Pod that the Sandbox does not own survives a suspension (SLEEP-4)", async () => {
    const mine = await world.client.create(pods, { metadata: { name: "not-owned", namespace }, spec: world.podSpec });
    await world.create("not-owned", { operatingMode: "Suspended" });
    const isNotOwned = (sandbox: Sandbox | undefined): boolean =>
      findCondition(sandbox?.status?.conditions, "Suspended")?.reason === "PodNotOwned";
    const { status } = (await world.until("not-owned", isNotOwned)) ?? {};
    expect([status?.podIPs ?? [], status?.nodeName ?? ""]).toEqual([[], ""]);
    const kept = await world.client.get(pods, { namespace, name: "not-owned" });
    expect([kept.metadata?.uid, kept.metadata?.deletionTimestamp]).toEqual([mine.metadata?.uid, undefined]);
    await world.client.delete(pods, { namespace, name: "not-owned" });
    expect(await world.until("not-owned", isSuspended)).toBeDefined();
  });
}

import type { Container, Service } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { services, volumeClaims } from "../child-caches.ts";
import {
  deployment,
  hash,
  hashLabel,
  name,
  namespace,
  ownedBy,
  podTemplate,
  SandboxWorld,
} from "./sandbox-world.test.support.ts";

const selector = { [hashLabel]: hash };
const adoptable = { "agents.x-k8s.io/adoptable": "true" };
const claimName = "data-my-sandbox";
const volumeClaimTemplates = [
  {
    metadata: { name: "data", labels: { tier: "gold", [hashLabel]: "evil" }, annotations: { a: "1" } },
    spec: { accessModes: ["ReadWriteOnce"] },
  },
];

describe("the Service of a Sandbox", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const portsOf = (...containers: Partial<Container>[]) =>
    podTemplate(
      {},
      { containers: containers.map((container, index) => ({ name: `c${index}`, image: "host", ...container })) },
    );
  const ports = () =>
    world
      .service()
      ?.spec?.ports?.map(({ name: port, protocol, port: number, targetPort }) => [port, protocol, number, targetPort]);
  const newService = (metadata: Service["metadata"], spec: Service["spec"] = {}): Service => ({
    metadata: { name, namespace, ...metadata },
    spec,
  });
  const ready = () => world.condition("Ready");

  test("creates a headless Service without ports and names it in the status (SERVICE-1)", async () => {
    await using other = new SandboxWorld({ clusterDomain: "example.org" });
    await other.create({ spec: { service: true } });
    await other.settle();
    expect(other.service()).toMatchObject({
      metadata: { labels: selector, ownerReferences: [ownedBy(other.sandbox())] },
      spec: { clusterIP: "None", selector },
    });
    expect(other.service()?.spec).not.toHaveProperty("ports");
    expect(other.sandbox()?.status).toMatchObject({ service: name, serviceFQDN: "my-sandbox.default.svc.example.org" });
  });

  test("merges, names and sorts the ports of all containers (SERVICE-2)", async () => {
    const listed = [
      { containerPort: 9090, protocol: "UDP" },
      { containerPort: 8080 },
      { containerPort: 8080, name: "http" },
      { containerPort: 9090 },
      { containerPort: 0 },
    ];
    await world.create({ spec: { service: true, ...portsOf({ ports: listed }) } });
    await world.settle();
    expect(ports()).toEqual([
      ["http", "TCP", 8080, 8080],
      ["p-9090-tcp", "TCP", 9090, 9090],
      ["p-9090-udp", "UDP", 9090, 9090],
    ]);
  });

  test("keeps a port name for the first of two ports that use it (SERVICE-3)", async () => {
    const named = (containerPort: number) => ({ ports: [{ containerPort, name: "http" }] });
    await world.create({ spec: { service: true, ...portsOf(named(8080), named(8081)) } });
    await world.settle();
    expect(ports()?.map(([port]) => port)).toEqual(["http", "p-8081-tcp"]);
  });

  test("changes a generated port name that equals an explicit one (SERVICE-4)", async () => {
    const listed = [{ containerPort: 80 }, { containerPort: 81, name: "p-80-tcp" }];
    await world.create({ spec: { service: true, ...portsOf({ ports: listed }) } });
    await world.settle();
    expect(ports()?.map(([port]) => port)).toEqual(["p-80-tcp-2", "p-80-tcp"]);
  });

  test("includes ports of sidecars but not of other init containers (SERVICE-5)", async () => {
    const initContainers = [
      { name: "sidecar", image: "host", restartPolicy: "Always", ports: [{ containerPort: 1 }] },
      { name: "setup", image: "host", ports: [{ containerPort: 2 }] },
    ];
    await world.create({ spec: { service: true, ...podTemplate({}, { initContainers }) } });
    await world.settle();
    expect(ports()?.map(([, , port]) => port)).toEqual([1]);
  });

  test("repairs a changed Service and keeps labels that others added (SERVICE-6)", async () => {
    await world.create({ spec: { service: true, ...portsOf({ ports: [{ containerPort: 80, name: "http" }] }) } });
    await world.settle();
    const metadata = { labels: { [hashLabel]: "wrong", other: "kept" } };
    const spec = { selector: { [hashLabel]: "wrong", more: "x" }, ports: [] };
    await world.user.patch(services, { namespace, name }, { type: "merge", body: { metadata, spec } });
    await world.settle();
    expect(world.service()?.metadata?.labels).toEqual({ ...selector, other: "kept" });
    expect(world.service()?.spec?.selector).toEqual(selector);
    expect(ports()).toEqual([["http", "TCP", 80, 80]]);
  });

  test("leaves additional fields of a port alone (SERVICE-7)", async () => {
    await world.create({ spec: { service: true, ...portsOf({ ports: [{ containerPort: 80, name: "http" }] }) } });
    await world.settle();
    const port = { name: "http", protocol: "TCP", port: 80, targetPort: 80, appProtocol: "h2c" };
    const writes = await world.writesDuring(async () => {
      await world.user.patch(services, { namespace, name }, { type: "merge", body: { spec: { ports: [port] } } });
      await world.settle();
    });
    expect(writes).toEqual({ "patch services": 1 });
  });

  test("keeps an owned Service with its ports when service is unset (SERVICE-8)", async () => {
    await world.createRunning({ spec: { service: true, ...portsOf({ ports: [{ containerPort: 80 }] }) } });
    await world.edit({ spec: { service: null } });
    const body = { metadata: { labels: null }, spec: { selector: { a: "b" }, ports: [{ port: 9, name: "nine" }] } };
    await world.user.patch(services, { namespace, name }, { type: "merge", body });
    await world.settle();
    expect(world.service()?.metadata?.labels).toEqual(selector);
    expect(world.service()?.spec).toMatchObject({ selector, ports: [{ port: 9, name: "nine" }] });
    expect(ready()).toMatchObject({ status: "True", message: "Pod is Ready; Service Exists" });
  });

  test("ignores a Service it does not own when service is unset (SERVICE-9)", async () => {
    const stranger = await world.user.create(services, newService({ labels: adoptable }));
    await world.createRunning();
    expect(world.service()).toEqual(stranger);
    expect(world.sandbox()?.status).not.toHaveProperty("service");
    expect(ready()).toMatchObject({ status: "True", message: "Pod is Ready" });
  });

  test("deletes only the owned Service when service is false (SERVICE-10)", async () => {
    await world.createRunning({ spec: { service: true } });
    await world.edit({ spec: { service: false } });
    await world.settle();
    expect(world.service()).toBeUndefined();
    expect(world.sandbox()?.status).not.toHaveProperty("service");
    expect(world.sandbox()?.status).not.toHaveProperty("serviceFQDN");
    await world.user.create(services, newService({ labels: adoptable }));
    await world.settle();
    expect(world.service()).toBeDefined();
    expect(ready()).toMatchObject({ status: "True" });
  });

  test("adopts an adoptable headless Service and overwrites its selector and ports (SERVICE-11)", async () => {
    const spec = { clusterIP: "None", selector: { app: "x" }, ports: [{ port: 1 }] };
    await world.user.create(services, newService({ labels: adoptable }, spec));
    await world.create({ spec: { service: true } });
    await world.settle();
    expect(world.service()).toMatchObject({
      metadata: { labels: { ...adoptable, ...selector }, ownerReferences: [ownedBy(world.sandbox())] },
    });
    expect(world.service()?.spec).toEqual({ clusterIP: "None", selector });
    expect(world.sandbox()?.status?.service).toBe(name);
  });

  test.for([
    ["has a cluster IP", { labels: adoptable }, { clusterIP: "10.96.0.7" }, "immutable"],
    ["has no adoption label", {}, { clusterIP: "None" }, "adoptable"],
  ] as const)("does not adopt a Service that %s (SERVICE-12)", async ([, metadata, spec, hint]) => {
    await world.user.create(services, newService(metadata, spec));
    await world.create({ spec: { service: true } });
    await world.settle();
    expect(world.service()?.metadata).not.toHaveProperty("ownerReferences");
    expect(ready()).toMatchObject({ reason: "ReconcilerError", message: expect.stringContaining(hint) as unknown });
    expect(world.pod()).toBeDefined();
  });

  test.for([[true], [null]] as const)(
    "reports a Service of another controller when service is %s (SERVICE-13)",
    async ([wish]) => {
      const sandbox = await world.create({ spec: { operatingMode: "Suspended" } });
      const ownerReferences = [deployment, { ...ownedBy(sandbox), controller: false }];
      await world.user.create(services, newService({ ownerReferences }, { clusterIP: "None" }));
      await world.edit({ spec: { service: wish, operatingMode: "Running" } });
      await world.settle();
      expect(ready()).toMatchObject({
        reason: "ReconcilerError",
        message: expect.stringContaining("someone-else") as unknown,
      });
      expect(world.service()?.metadata?.ownerReferences).toEqual(ownerReferences);
    },
  );

  test("reports a Sandbox name that is not a valid Service name without trying, and runs the Pod (SERVICE-14)", async () => {
    const own = "9-begins-with-a-digit";
    await world.create({ name: own, spec: { service: true } });
    await world.settle();
    expect(world.pod(own)).toBeDefined();
    expect(world.condition("Ready", own)).toMatchObject({ reason: "ReconcilerError" });
    expect(world.server.requests.get("create services")).toBeUndefined();
  });
});

describe("the volume claims of a Sandbox", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const claim = () => world.volumeClaim(claimName);
  const createClaim = (metadata: object) =>
    world.user.create(volumeClaims, { metadata: { name: claimName, namespace, ...metadata } });

  test("creates a volume claim for each template (VOLUME-1)", async () => {
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    expect(claim()).toMatchObject({
      metadata: {
        labels: { tier: "gold", ...selector },
        annotations: { a: "1" },
        ownerReferences: [ownedBy(world.sandbox())],
      },
      spec: { accessModes: ["ReadWriteOnce"] },
    });
  });

  test("creates no Pod while a claim is being deleted, and both when it is gone (VOLUME-11)", async () => {
    await world.create({ spec: { volumeClaimTemplates, operatingMode: "Suspended" } });
    await world.settle();
    const key = { namespace, name: claimName };
    const before = claim()?.metadata?.uid;
    const hold = (finalizers: readonly string[] | null) =>
      world.user.patch(volumeClaims, key, { type: "merge", body: { metadata: { finalizers } } });
    await hold(["kubernetes.io/pvc-protection"]);
    await world.user.delete(volumeClaims, key);
    await world.edit({ spec: { operatingMode: "Running" } });
    await world.settle();
    expect([world.pod(), claim()?.metadata?.uid]).toEqual([undefined, before]);
    const message = expect.stringContaining("is being deleted") as unknown;
    expect(world.condition("Ready")).toMatchObject({ message });
    await hold(null);
    await world.settle();
    expect(world.pod()).toBeDefined();
    expect(claim()?.metadata?.uid).not.toBe(before);
  });

  test("reports a volume claim of another controller and leaves it alone (VOLUME-2)", async () => {
    const sandbox = await world.create({ name: "keeper", spec: { operatingMode: "Suspended" } });
    const ownerReferences = [{ ...ownedBy(sandbox), kind: "StatefulSet", apiVersion: "apps/v1" }];
    await createClaim({ ownerReferences });
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ reason: "ReconcilerError" });
    expect(claim()?.metadata?.ownerReferences).toEqual(ownerReferences);
  });

  test.for([
    ["has the adoptable label", adoptable],
    ["has the Sandbox's name hash", selector],
  ] as const)("adopts a volume claim without controller that %s (VOLUME-3)", async ([, labels]) => {
    await createClaim({ labels });
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    expect(claim()?.metadata).toMatchObject({ labels, ownerReferences: [ownedBy(world.sandbox())] });
  });

  test("reports a volume claim without adoption label until it gets one (VOLUME-4)", async () => {
    await createClaim({});
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    expect(claim()?.metadata).not.toHaveProperty("ownerReferences");
    expect(world.condition("Ready")).toMatchObject({ reason: "ReconcilerError" });
    const body = { metadata: { labels: adoptable } };
    await world.user.patch(volumeClaims, { namespace, name: claimName }, { type: "merge", body });
    await world.settle();
    expect(claim()?.metadata?.ownerReferences).toHaveLength(1);
    expect(world.condition("Ready")).toMatchObject({ reason: "DependenciesNotReady" });
  });

  test("creates the Pod although a volume claim cannot be created (VOLUME-5)", async () => {
    world.refuse("create", volumeClaims);
    await world.create({ spec: { volumeClaimTemplates } });
    await world.clock.runUntil(() => world.pod() !== undefined);
    expect(claim()).toBeUndefined();
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ reason: "ReconcilerError" });
    world.server.onRequest = undefined;
    await world.settle(10_000);
    expect(claim()).toBeDefined();
    expect(world.condition("Ready")).toMatchObject({ reason: "DependenciesNotReady" });
  });

  const retain = { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" } } as const;
  const deleteSandbox = async () => {
    const sandbox = world.sandbox();
    await world.user.delete(
      { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", plural: "sandboxes", namespaced: true },
      { namespace, name },
    );
    await world.settle();
    return sandbox;
  };

  test("deletes volume claims with the Sandbox unless they are retained (VOLUME-8)", async () => {
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    await deleteSandbox();
    expect(claim()).toBeUndefined();
    let wasOwned = false;
    world.server.onChange(({ resource, object }) => {
      if (resource.plural === "persistentvolumeclaims") wasOwned ||= object.metadata?.ownerReferences !== undefined;
    });
    await world.create({ spec: { volumeClaimTemplates, ...retain } });
    await world.settle();
    await deleteSandbox();
    expect(claim()).toBeDefined();
    expect(world.pod()).toBeUndefined();
    // Not for a moment: a Sandbox deleted in it would take the claim along.
    expect(wasOwned).toBe(false);
  });

  test("uses a retained volume claim for the next Sandbox with the same name (VOLUME-9)", async () => {
    await world.create({ spec: { volumeClaimTemplates, ...retain } });
    await world.settle();
    const kept = claim();
    await deleteSandbox();
    await world.create({ spec: { volumeClaimTemplates, ...retain } });
    await world.settle();
    expect(claim()).toEqual(kept);
    expect(world.condition("Ready")).toMatchObject({ reason: "DependenciesNotReady" });
  });

  test("turns retention on and off while the Sandbox exists (VOLUME-10)", async () => {
    await world.create({ spec: { volumeClaimTemplates } });
    await world.settle();
    await world.edit({ spec: retain });
    await world.settle();
    expect(claim()?.metadata).not.toHaveProperty("ownerReferences");
    await world.edit({ spec: { persistentVolumeClaimRetentionPolicy: null } });
    await world.settle();
    expect(claim()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
  });
});

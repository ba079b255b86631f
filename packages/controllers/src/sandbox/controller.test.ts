import { podSpecHashAnnotation, sandboxes } from "@agent-sandbox/api";
import { afterEach, describe, expect, test } from "vitest";
import { pods, services } from "../child-caches.ts";
import {
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

describe("the Sandbox controller", () => {
  let world: SandboxWorld;
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("reconciles a Sandbox no more often than something changes (COST-12)", async () => {
    let passes = 0;
    world = new SandboxWorld({ metrics: { reconciled: () => (passes += 1) } });
    await world.create({ spec: { service: true, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } });
    await world.settle();
    expect(passes).toBe(1);
    await world.podReports(runningPod);
    await world.settle();
    // One more when the event of a write overtakes its answer.
    expect(passes).toBeLessThanOrEqual(3);
  });

  test("reports why a Pod cannot be created, and creates it later (RECOVER-7)", async () => {
    world = new SandboxWorld();
    world.refuse("create", pods);
    await world.create();
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
    expect(world.condition("PodScheduled")).toMatchObject({ status: "Unknown" });
    world.server.onRequest = undefined;
    await world.settle(10_000);
    expect(world.condition("Ready")).toMatchObject({ reason: "DependenciesNotReady" });
    expect(world.server.readAll(pods)).toHaveLength(1);
  });

  test("retries a forbidden create with growing delays (RECOVER-7)", async () => {
    world = new SandboxWorld();
    world.controllerFaults = ({ verb, resource }) =>
      verb === "create" && resource.plural === "pods" ? { refuse: { reason: "Forbidden" } } : undefined;
    await world.create();
    await world.settle(24 * 3_600_000);
    expect(world.attempts.get("create pods")).toBeLessThan(120);
    world.controllerFaults = undefined;
    await world.settle(1_000_000);
    expect(world.pod()).toBeDefined();
  });

  test("watches only its namespace when it has one (MANAGER-13)", async () => {
    world = new SandboxWorld({ namespace });
    await world.user.create(sandboxes, { ...newSandbox(), metadata: { name, namespace: "other" } });
    await world.create();
    await world.settle();
    expect(world.server.readAll(pods).map(({ metadata }) => metadata?.namespace)).toEqual([namespace]);
  });

  describe("with a cache of labelled objects only", () => {
    test("discovers an adoptable Pod when the create fails, and adopts it (POD-12)", async () => {
      world = new SandboxWorld({ onlyLabelledChildren: true });
      await world.user.create(pods, newPod({ labels: { "agents.x-k8s.io/adoptable": "true" } }));
      await world.create();
      await world.settle();
      expect(world.pod()?.metadata).toMatchObject({
        ownerReferences: [ownedBy(world.sandbox())],
        labels: { [hashLabel]: hash },
      });
      await world.podReports(runningPod);
      await world.settle();
      expect(world.condition("Ready")).toMatchObject({ status: "True" });
    });

    test("retries with growing delays while a Pod outside its cache has the name (RECOVER-7)", async () => {
      world = new SandboxWorld({ onlyLabelledChildren: true });
      await world.user.create(pods, newPod());
      await world.create();
      await world.settle(3_600_000);
      expect(world.attempts.get("create pods")).toBeLessThan(40);
      expect(world.condition("Ready")).toMatchObject({
        reason: "ReconcilerError",
        message: expect.stringContaining("adoptable") as unknown,
      });
      await world.user.delete(pods, { namespace, name });
      await world.settle(1_000_000);
      expect(world.pod()?.metadata?.ownerReferences).toEqual([ownedBy(world.sandbox())]);
    });

    test("retries with growing delays while a Service outside its cache has the name (RECOVER-7)", async () => {
      world = new SandboxWorld({ onlyLabelledChildren: true });
      const metadata = { name, namespace, labels: { "agents.x-k8s.io/adoptable": "true" } };
      await world.user.create(services, { metadata, spec: { clusterIP: "10.96.0.7" } });
      await world.create({ spec: { service: true } });
      await world.settle(3_600_000);
      expect(world.attempts.get("create services")).toBeLessThan(40);
      expect(world.condition("Ready")).toMatchObject({ message: expect.stringContaining("immutable") as unknown });
    });
  });

  test("sends UID and version with each write to a Sandbox and each delete of its Pod (ABUSE-12)", async () => {
    world = new SandboxWorld();
    const held: unknown[] = [];
    world.controllerFaults = ({ verb, resource, subresource, body }) => {
      const { metadata, preconditions } = (body ?? {}) as { metadata?: object; preconditions?: object };
      if (verb === "patch" && resource.plural === "sandboxes") held.push([subresource ?? "metadata", metadata]);
      if (verb === "delete") held.push([resource.plural, preconditions]);
      return undefined;
    };
    const { metadata } = await world.create();
    await world.settle();
    const pod = world.pod();
    await world.setMode("Suspended");
    await world.settle();
    const version = expect.stringMatching(/^\d+$/) as unknown;
    const uid = metadata.uid;
    expect(held).toMatchObject([
      ["metadata", { uid, resourceVersion: metadata.resourceVersion }],
      ["status", { uid, resourceVersion: version }],
      ["pods", { uid: pod?.metadata?.uid }],
      ["status", { uid, resourceVersion: version }],
    ]);
  });

  test("keeps the trace context on the Sandbox and does not copy it to the Pod (OBSERVE-1)", async () => {
    world = new SandboxWorld();
    const trace = { "opentelemetry.io/trace-context": '{"traceparent":"00-1-2-01"}' };
    await world.createRunning({ annotations: trace });
    expect(world.sandbox()?.metadata.annotations).toMatchObject(trace);
    expect(Object.keys(world.pod()?.metadata?.annotations ?? {})).toEqual([podSpecHashAnnotation]);
  });
});

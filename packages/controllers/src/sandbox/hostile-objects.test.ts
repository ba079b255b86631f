import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods, services, volumeClaims } from "../child-caches.ts";
import {
  hash,
  hashLabel,
  name,
  namespace,
  newPod,
  newSandbox,
  ownedBy,
  podTemplate,
  runningPod,
  SandboxWorld,
} from "./sandbox-world.test.support.ts";

describe("hostile Sandboxes", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const wrong: [what: string, spec: unknown, says: string][] = [
    ["no spec", null, "spec is missing"],
    ["a list as spec", [], "spec is missing"],
    ["no Pod template", {}, "spec.podTemplate.spec is missing"],
    ["no containers", { podTemplate: { spec: {} } }, "containers"],
    [
      "null as a container",
      { podTemplate: { spec: { containers: [null] } }, service: true },
      "Cannot understand the spec",
    ],
    ["a list as shutdownTime", { ...newSandbox().spec, shutdownTime: [] }, "spec.shutdownTime"],
    ["a number as shutdownTime", { ...newSandbox().spec, shutdownTime: 7 }, "spec.shutdownTime"],
    ["30 February", { ...newSandbox().spec, shutdownTime: "2026-02-30T00:00:00Z" }, "spec.shutdownTime"],
    ["a megabyte of shutdownTime", { ...newSandbox().spec, shutdownTime: "9".repeat(1_000_000) }, "spec.shutdownTime"],
    [
      "a volume without a name",
      { ...newSandbox().spec, volumeClaimTemplates: [{ spec: {} }] },
      "volumeClaimTemplates[0]",
    ],
    ["null as a volume", { ...newSandbox().spec, volumeClaimTemplates: [null] }, "volumeClaimTemplates"],
    ["an object as volumes", { ...newSandbox().spec, volumeClaimTemplates: {} }, "volumeClaimTemplates"],
    [
      "a volume twice",
      { ...newSandbox().spec, volumeClaimTemplates: [{ metadata: { name: "a" } }, { metadata: { name: "a" } }] },
      "volumeClaimTemplates[1]",
    ],
  ];

  test.for(wrong)("reports %s, creates nothing, and can be deleted (ABUSE-1)", async ([, spec, says]) => {
    await world.user.create(sandboxes, { ...newSandbox(), spec } as Sandbox);
    await world.settle(60_000);
    expect(world.condition("Ready")).toMatchObject({
      reason: "InvalidConfiguration",
      message: expect.stringContaining(says) as unknown,
    });
    expect(world.condition("Ready")?.message.length).toBeLessThan(1_000);
    expect(Object.fromEntries(world.attempts)).toEqual({ "patch sandboxes/status": 1 });
    expect(world.warnings).toEqual([]);
    await world.user.delete(sandboxes, { namespace, name });
    await world.settle();
    expect(world.sandbox()).toBeUndefined();
  });

  test("keeps the Pod of a Sandbox whose spec becomes malformed, and continues when it is corrected (ABUSE-2)", async () => {
    await world.createRunning();
    const pod = world.pod();
    await world.edit({ spec: { shutdownTime: [] } });
    await world.settle();
    expect(world.condition("Ready")?.reason).toBe("InvalidConfiguration");
    expect(world.pod()).toEqual(pod);
    await world.edit({ spec: { shutdownTime: null } });
    await world.settle();
    expect(world.condition("Ready")?.status).toBe("True");
  });

  test.for([
    ["year 9999", { shutdownTime: "9999-12-31T23:59:59Z" }],
    ["an offset", { shutdownTime: "2099-01-01T00:00:00+23:59" }],
    ["an unknown mode", { operatingMode: "Hibernating" }],
    ["an unknown policy", { shutdownPolicy: "Shred" }],
    [
      "the longest idle times",
      { idlePolicy: { suspendAfterSeconds: 2_147_483_647, deleteAfterSeconds: 2_147_483_647 } },
    ],
    ["a string as idle time", { idlePolicy: { suspendAfterSeconds: "soon" } }],
    ["null in optional fields", { service: null, shutdownTime: null, volumeClaimTemplates: null, idlePolicy: null }],
  ])("runs a Sandbox with %s (ABUSE-3)", async ([, spec]) => {
    await world.create({ spec: spec as Partial<Sandbox["spec"]> });
    await world.settle();
    await world.podReports(runningPod);
    await world.settle(60_000);
    expect(world.condition("Ready")?.status).toBe("True");
    expect(world.clock.pending).toBeLessThan(50);
  });

  test("runs a Sandbox with a name of 253 characters and reports that it can have no Service (ABUSE-4)", async () => {
    const long = `${"n".repeat(126)}.${"m".repeat(126)}`;
    await world.create({ name: long });
    await world.create({ name: `s${long.slice(1)}`, spec: { service: true } });
    await world.settle();
    expect(world.condition("Ready", long)).toMatchObject({ reason: "DependenciesNotReady" });
    expect(world.condition("Ready", `s${long.slice(1)}`)).toMatchObject({ reason: "ReconcilerError" });
    expect(world.pod(`s${long.slice(1)}`)).toBeDefined();
  });

  test("treats label keys such as __proto__ like any other (ABUSE-5)", async () => {
    const labels = JSON.parse('{"__proto__": "1", "constructor": "2", "hasOwnProperty": "3"}') as Record<
      string,
      string
    >;
    await world.create({ spec: podTemplate({ labels }) });
    await world.settle();
    const found = world.pod()?.metadata?.labels ?? {};
    expect(Object.keys(found).toSorted()).toEqual(["__proto__", hashLabel, "constructor", "hasOwnProperty"].toSorted());
    await world.edit({ spec: { podTemplate: { metadata: { labels: { constructor: null } } } } });
    await world.settle();
    expect(Object.keys(world.pod()?.metadata?.labels ?? {})).not.toContain("constructor");
  });

  test("ignores a Pod of another namespace that names the Sandbox as its owner (ABUSE-6)", async () => {
    await world.createRunning();
    const elsewhere = newPod({ namespace: "other", name: "forged", ownerReferences: [ownedBy(world.sandbox())] });
    await world.user.create(pods, elsewhere);
    await world.settle();
    expect(world.condition("Ready")?.status).toBe("True");
    await world.setMode("Suspended");
    await world.settle();
    expect(world.condition("Suspended")?.status).toBe("True");
    expect(world.server.read(pods, { namespace: "other", name: "forged" })).toBeDefined();
  });

  test("grants no ownership to an owner reference with another UID (ABUSE-7)", async () => {
    const uid = "00000000-0000-4000-8000-0000000000ee";
    await world.create({ name: "alive", spec: { operatingMode: "Suspended" } });
    const alive = { ...ownedBy(world.sandbox("alive")), controller: false };
    const forged = { ...ownedBy({ metadata: { name, uid } }) };
    const metadata = { name, namespace, labels: { [hashLabel]: hash }, ownerReferences: [forged, alive] };
    await world.user.create(services, { metadata, spec: { clusterIP: "None" } });
    await world.user.create(volumeClaims, { metadata: { ...metadata, name: `data-${name}` } });
    await world.create({ spec: { service: true, volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ reason: "ReconcilerError" });
    expect(world.service()?.metadata?.ownerReferences).toEqual([forged, alive]);
    await world.user.delete(sandboxes, { namespace, name });
    await world.settle();
    expect(world.service()).toBeDefined();
    expect(world.volumeClaim(`data-${name}`)).toBeDefined();
  });

  test("ignores a Pod of another namespace that has a second, existing owner (ABUSE-6)", async () => {
    await world.createRunning();
    const elsewhere = { namespace: "other", name: "forged" };
    const theirs = await world.user.create(sandboxes, {
      ...newSandbox({ spec: { operatingMode: "Suspended" } }),
      metadata: { name: "theirs", namespace: "other" },
    });
    // With an owner that is really there it is not collected.
    const ownerReferences = [ownedBy(world.sandbox()), { ...ownedBy(theirs), controller: false }];
    await world.user.create(pods, { ...newPod(), metadata: { ...elsewhere, ownerReferences } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    await world.setMode("Suspended");
    await world.settle();
    expect(world.condition("Suspended")).toMatchObject({ status: "True" });
    expect(world.server.read(pods, elsewhere)?.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test.for(["../../etc", "a".repeat(10_000), "UPPER case", "other/namespace"])(
    "replaces a forged pod-name annotation (ABUSE-8)",
    async (written) => {
      await world.create({ annotations: { "agents.x-k8s.io/pod-name": written } });
      await world.settle();
      expect(world.pod()).toBeDefined();
      expect(world.podNameNote).toBe(name);
    },
  );

  test("reports what the API server rejects as invalid and retries only after a change (RECOVER-8, STATUS-15)", async () => {
    const bad = podTemplate({ labels: { "no spaces allowed": "x" } });
    world.server.onRequest = ({ verb, resource, body }) =>
      verb === "create" && resource.plural === "pods" && JSON.stringify(body).includes("no spaces allowed")
        ? { refuse: { reason: "Invalid" } }
        : undefined;
    await world.create({ spec: bad });
    await world.settle(24 * 3_600_000);
    expect(world.condition("Ready")).toMatchObject({ reason: "InvalidConfiguration" });
    expect(world.attempts.get("create pods")).toBeLessThanOrEqual(4);
    await world.edit({ spec: { podTemplate: { metadata: null } } });
    await world.settle();
    expect(world.pod()).toBeDefined();
  });
});

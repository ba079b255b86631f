import {
  type Condition,
  findCondition,
  isConditionTrue,
  type Sandbox,
  type SandboxSpec,
  sandboxes,
} from "@agent-sandbox/api";
import { pods, secrets, services, volumeClaims } from "@agent-sandbox/controllers";
import { isReason } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeChildren } from "./children-suite.ts";
import { describeObjects } from "./objects-suite.ts";
import { type ControlledServer, namespace, SandboxServer } from "./sandbox-server.ts";

const is = (type: string) => (sandbox: Sandbox | undefined) => isConditionTrue(sandbox?.status?.conditions, type);
const conditionOf = (sandbox: Sandbox | undefined, type: string): Condition | undefined =>
  findCondition(sandbox?.status?.conditions, type);
const hasReason = (reason: string) => (sandbox: Sandbox | undefined) =>
  conditionOf(sandbox, "Ready")?.reason === reason;
const volume: NonNullable<SandboxSpec["volumeClaimTemplates"]> = [
  {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
];

/** The same on every API server. */
export function describeSandboxes(server: string, start: () => Promise<ControlledServer>): void {
  let world: SandboxServer;
  let runtimeImage: string;
  beforeAll(async () => {
    const started = await start();
    runtimeImage = started.images?.runtime ?? "sandboxd";
    world = await SandboxServer.start(started, { runtime: { image: runtimeImage, delivery: "ImageVolume" } });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  describe(`the Sandbox controller on ${server}`, () => {
    test("starts a Sandbox within the write budget (COST-1)", async () => {
      world.writes.length = 0;
      await world.create("direct");
      const ready = await world.until("direct", is("Ready"));
      expect(ready?.status).toMatchObject({ podIPs: [expect.stringMatching(/^10\./)] });
      expect(world.writes.length).toBeLessThanOrEqual(4);
      expect(world.writes[0]).toBe("POST /api/v1/namespaces/default/pods");
    });

    test("suspends within 3 writes, keeps volume and Service, and resumes with them (SLEEP-2, COST-3)", async () => {
      await world.create("stateful", { service: true, volumeClaimTemplates: volume });
      const first = await world.until("stateful", is("Ready"));
      expect(first?.status?.serviceFQDN).toBe("stateful.default.svc.cluster.local");
      const claim = await world.client.get(volumeClaims, { namespace, name: "data-stateful" });
      world.writes.length = 0;
      await world.edit("stateful", { spec: { operatingMode: "Suspended" } });
      await world.until("stateful", is("Suspended"));
      expect(world.writes.length).toBeLessThanOrEqual(3);
      await world.edit("stateful", { spec: { operatingMode: "Running" } });
      await world.until("stateful", is("Ready"));
      const after = await world.client.get(volumeClaims, { namespace, name: "data-stateful" });
      expect(after.metadata?.uid).toBe(claim.metadata?.uid);
      const pod = await world.client.get(pods, { namespace, name: "stateful" });
      expect(pod.spec?.volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "data-stateful" } });
    });

    test("deletes Pod, Service and volumes with the Sandbox, unless the volumes are retained (VOLUME-8)", async () => {
      const retained = { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" } } as const;
      await world.create("gone", { service: true, volumeClaimTemplates: volume });
      await world.create("kept", { service: true, volumeClaimTemplates: volume, ...retained });
      const names = ["gone", "kept"];
      for (const name of names) await world.until(name, is("Ready"));
      for (const name of names) await world.client.delete(sandboxes, { namespace, name });
      for (const name of names) await world.untilGone("pods", name);
      for (const name of names) await world.untilGone("services", name);
      await world.untilGoing("volumeClaims", "data-gone");
      const kept = await world.client.get(volumeClaims, { namespace, name: "data-kept" });
      expect(kept.metadata?.ownerReferences).toBeUndefined();
    });

    test("creates a Pod and a Secret for an injected runtime that the API server accepts (RUNTIME-1)", async () => {
      await world.create("injected", { runtime: "Injected" });
      const sandbox = await world.until("injected", is("Ready"));
      const { metadata, data } = await world.client.get(secrets, { namespace, name: "injected-runtime" });
      expect(metadata?.ownerReferences?.[0]?.uid).toBe(sandbox?.metadata.uid);
      expect(Buffer.from(data?.["token"] ?? "", "base64").toString()).toHaveLength(43);
      const { spec } = await world.client.get(pods, { namespace, name: "injected" });
      expect(spec?.containers[0]?.command).toEqual(["/opt/agent-sandbox/sandboxd", "run", "--", "sleep", "infinity"]);
      expect(spec?.volumes).toContainEqual({
        name: "agent-sandbox-runtime",
        image: { reference: runtimeImage, pullPolicy: "IfNotPresent" },
      });
    });

    test("deletes an expired Sandbox with everything it owns (EXPIRE-5)", async () => {
      await world.create("short", { service: true });
      await world.until("short", is("Ready"));
      world.writes.length = 0;
      await world.edit("short", { spec: { shutdownTime: new Date().toISOString(), shutdownPolicy: "Delete" } });
      await world.untilGone("sandboxes", "short");
      // Asked for its time, in a dry run.
      expect(world.writes[0]).toBe("POST /apis/events.k8s.io/v1/namespaces/default/events");
      await world.untilGone("pods", "short");
      await world.untilGone("services", "short");
      await expect(world.client.get(services, { namespace, name: "short" })).rejects.toMatchObject({
        reason: "NotFound",
      });
    });

    const long = `${"n".repeat(126)}.${"m".repeat(126)}`;
    const container = { name: "c", image: "host" };
    test.for<[what: string, name: string, spec: Partial<SandboxSpec>]>([
      ["a Service under a name of 253 characters", long, { service: true }],
      ["a volume under a name of 253 characters", `v${long.slice(1)}`, { volumeClaimTemplates: volume }],
      ["an injected runtime under a name of 253 characters", `d${long.slice(1)}`, { runtime: "Injected" }],
      [
        "an invalid Pod label",
        "bad-label",
        { podTemplate: { metadata: { labels: { "no spaces": "x" } }, spec: { containers: [container] } } },
      ],
      ["no containers", "empty", { podTemplate: { spec: { containers: [] } } }],
      ["a volume without a name", "nameless", { volumeClaimTemplates: [{ spec: {} }] }],
      [
        "a mount of a volume that does not exist",
        "mount",
        { podTemplate: { spec: { containers: [{ ...container, volumeMounts: [{ name: "x", mountPath: "/x" }] }] } } },
      ],
    ])("reports %s, and the Sandbox can be deleted (ABUSE-1)", async ([, name, spec]) => {
      await world.create(name, spec);
      // The names of children are not part of the configuration.
      const reason = name.length > 200 ? "ReconcilerError" : "InvalidConfiguration";
      const sandbox = await world.until(name, hasReason(reason));
      expect(conditionOf(sandbox, "Ready")?.message).toMatch(/^Error seen: .{10}/);
      await world.client.delete(sandboxes, { namespace, name });
      await world.untilGone("sandboxes", name);
      await world.untilGone("pods", name);
    });

    const other = { ...volume[0], metadata: { name: "more" } } as const;
    test.for([
      ["adding an entry to", volume, [...volume, other]],
      ["setting", undefined, volume],
      ["removing", volume, null],
    ] as const)("rejects %s volumeClaimTemplates (API-1)", async ([what, before, after]) => {
      const name = `volumes-${what.split(" ", 1)[0]}`;
      await world.create(name, before && { volumeClaimTemplates: before });
      await expect(world.edit(name, { spec: { volumeClaimTemplates: after } })).rejects.toMatchObject({
        reason: "Invalid",
        message: expect.stringContaining("volumeClaimTemplates is immutable"),
      });
    });

    test("stores a Sandbox without optional fields as Running and Retain (API-2)", async () => {
      const { spec } = await world.create("silent");
      expect([spec.operatingMode, spec.shutdownPolicy]).toEqual(["Running", "Retain"]);
    });

    test("rejects or reports a shutdownTime that is a list (ABUSE-1)", async () => {
      const spec = { shutdownTime: [] as unknown as string };
      const refused = await world.create("listed", spec).then(
        () => false,
        (error: unknown) => isReason(error, "Invalid"),
      );
      const told = refused || (await world.until("listed", hasReason("InvalidConfiguration"))) !== undefined;
      expect(told).toBe(true);
    });

    describe("and what these objects contain", () => {
      describeChildren(() => world);
    });

    describe("and the objects of a Sandbox", () => {
      describeObjects(() => world);
    });
  });
}

import { podSpecHashAnnotation, type SandboxSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { newPod, podTemplate, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";

const image = (text: string): Partial<SandboxSpec> => podTemplate({}, { containers: [{ name: "c", image: text }] });
const limits = (memory: string): Partial<SandboxSpec> =>
  podTemplate({}, { containers: [{ name: "c", image: "host", resources: { limits: { memory } } }] });

describe("a Pod that was created from an older spec", () => {
  test("is reported until it is replaced, and Ready stays (STATUS-19)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning();
    expect(world.conditionTypes).not.toContain("PodOutdated");
    const attempts = await world.attemptsDuring(async () => {
      await world.edit({ spec: image("newer") });
      await world.settle();
    });
    expect(attempts).toEqual({ "patch sandboxes/status": 1 });
    expect(world.condition("PodOutdated")).toMatchObject({
      status: "True",
      reason: "PodTemplateChanged",
      message:
        'The Pod runs an older spec.podTemplate; "agent-sandbox restart my-sandbox" replaces the Pod and applies the new one',
      observedGeneration: world.sandbox()?.metadata.generation,
    });
    expect(world.condition("Ready")?.status).toBe("True");
    await world.finishPod();
    await world.settle();
    await world.podReports(runningPod);
    await world.settle();
    expect(world.pod()?.spec?.containers[0]?.image).toBe("newer");
    expect(world.conditionTypes).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  test("is not outdated when the change is taken back (STATUS-19)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning({ spec: image("one") });
    await world.edit({ spec: image("two") });
    await world.settle();
    expect(world.condition("PodOutdated")?.status).toBe("True");
    await world.edit({ spec: image("one") });
    await world.settle();
    expect(world.condition("PodOutdated")).toBeUndefined();
  });

  test("is gone after a suspension, and nothing is said meanwhile (STATUS-19)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning();
    await world.edit({ spec: image("newer") });
    await world.settle();
    await world.setMode("Suspended");
    await world.settle();
    expect(world.condition("PodOutdated")).toBeUndefined();
    await world.setMode("Running");
    await world.settle();
    await world.podReports(runningPod);
    await world.settle();
    expect(world.condition("Ready")?.status).toBe("True");
    expect(world.condition("PodOutdated")).toBeUndefined();
  });

  test.for<[string, Partial<SandboxSpec>, object]>([
    ["Pod metadata", {}, { spec: podTemplate({ labels: { a: "b" }, annotations: { c: "d" } }) }],
    ["another spelling of a quantity", limits("1Gi"), { spec: limits("1024Mi") }],
    ["a field of the Sandbox that its Pod does not depend on", {}, { spec: { shutdownTime: "2030-01-01T00:00:00Z" } }],
  ])("is not made by a change of %s (STATUS-20)", async ([, spec, change]) => {
    await using world = new SandboxWorld();
    await world.createRunning({ spec });
    await world.edit(change);
    await world.settle();
    expect(world.sandbox()?.metadata.generation).toBeGreaterThan(1);
    expect(world.conditionTypes).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  test("is not known if another controller created it (STATUS-20)", async () => {
    await using world = new SandboxWorld();
    await world.user.create(
      { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true },
      newPod({ labels: { "agents.x-k8s.io/adoptable": "true" } }),
    );
    await world.createRunning();
    await world.edit({ spec: image("newer") });
    await world.settle();
    expect(world.condition("PodOutdated")).toBeUndefined();
  });

  test.for([["no mark"], ["1-ABCDEF01"], ["1-00000000 "], [`${"9".repeat(40)}-00000000`], ["\u0000"], [""]])(
    "is not known with the forged mark %j, and nothing else happens (STATUS-20, ABUSE-15)",
    async ([mark]) => {
      await using world = new SandboxWorld();
      await world.createRunning();
      await world.edit({ spec: image("newer") });
      await world.editPod({ metadata: { annotations: { [podSpecHashAnnotation]: mark } } });
      await world.settle();
      expect(world.condition("PodOutdated")).toBeUndefined();
      expect(world.condition("Ready")?.status).toBe("True");
    },
  );

  test("a well-formed forged mark changes only the condition of the own Sandbox (ABUSE-15)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning();
    const { uid } = world.pod()?.metadata ?? {};
    await world.editPod({ metadata: { annotations: { [podSpecHashAnnotation]: "7-00000000" } } });
    await world.settle();
    expect(world.condition("PodOutdated")?.status).toBe("True");
    expect(world.condition("Ready")?.status).toBe("True");
    expect(world.pod()?.metadata?.uid).toBe(uid);
  });

  test("a mark in the pod template does not reach the Pod (ABUSE-15)", async () => {
    await using world = new SandboxWorld();
    await world.createRunning({ spec: podTemplate({ annotations: { [podSpecHashAnnotation]: "7-00000000" } }) });
    expect(world.pod()?.metadata?.annotations?.[podSpecHashAnnotation]).toMatch(/^1-[0-9a-f]{8}$/);
  });
});

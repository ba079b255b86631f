import type { Condition, Pod, Sandbox, SandboxSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { type Decision, decide } from "./decide.ts";
import type { Observed } from "./observe.ts";

const now = Date.parse("2026-03-01T10:00:00Z");
const earlier = "2026-03-01T09:00:00Z";
const hash = "374de8f5";

function sandbox(spec: Partial<SandboxSpec> = {}, over: Partial<Sandbox> = {}): Sandbox {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "my-sandbox", namespace: "default", uid: "uid-1", generation: 1 },
    spec: { podTemplate: { spec: { containers: [{ name: "c", image: "host" }] } }, ...spec },
    ...over,
  };
}

const owner = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  name: "my-sandbox",
  uid: "uid-1",
  controller: true,
  blockOwnerDeletion: true,
};

function pod(status: Pod["status"], over: Pod["metadata"] = {}): Pod {
  const metadata = { name: "my-sandbox", namespace: "default", uid: "pod-1", ownerReferences: [owner], ...over };
  return { metadata, spec: { containers: [], nodeName: "box" }, status: status ?? {} };
}

const running: Pod["status"] = {
  phase: "Running",
  podIPs: [{ ip: "10.0.0.2" }, { ip: "fd00::2" }],
  conditions: [
    { type: "PodScheduled", status: "True" },
    { type: "Ready", status: "True" },
  ],
};

function condition(type: string, status: Condition["status"], reason: string, message: string): Condition {
  return { type, status, observedGeneration: 1, lastTransitionTime: "2026-03-01T10:00:00Z", reason, message };
}
const notSuspended = condition("Suspended", "False", "NotSuspended", "Sandbox is not suspended");
const scheduled = condition("PodScheduled", "True", "PodScheduled", "");

function readyOf(decision: Decision): Partial<Condition> | undefined {
  return decision.status?.conditions?.find(({ type }) => type === "Ready");
}

describe("decide()", () => {
  test("makes a Pod for a Sandbox that has none", () => {
    expect(decide({ sandbox: sandbox(), pod: undefined }, now)).toEqual({
      actions: [
        {
          do: "create-pod",
          pod: {
            apiVersion: "v1",
            kind: "Pod",
            metadata: {
              name: "my-sandbox",
              namespace: "default",
              labels: { "agents.x-k8s.io/sandbox-name-hash": hash },
              annotations: {},
              ownerReferences: [owner],
            },
            spec: { containers: [{ name: "c", image: "host" }] },
          },
        },
      ],
      status: {
        conditions: [notSuspended, condition("Ready", "False", "DependenciesNotReady", "Pod does not exist")],
      },
    });
  });

  test("reports a running Pod with its addresses and node", () => {
    expect(decide({ sandbox: sandbox(), pod: pod(running) }, now)).toEqual({
      actions: [],
      status: {
        selector: `agents.x-k8s.io/sandbox-name-hash=${hash}`,
        podIPs: ["10.0.0.2", "fd00::2"],
        nodeName: "box",
        conditions: [notSuspended, scheduled, condition("Ready", "True", "DependenciesReady", "Pod is Ready")],
      },
    });
  });

  test.for([
    ["not running yet", { phase: "Pending" }, "DependenciesNotReady", "Pod exists with phase: Pending"],
    ["not ready yet", { phase: "Running" }, "DependenciesNotReady", "Pod is Running but not Ready"],
    ["without an address", { ...running, podIPs: [] }, "DependenciesNotReady", "Pod is Ready but has no podIPs yet"],
    ["that succeeded", { phase: "Succeeded" }, "PodSucceeded", "Pod completed successfully"],
    ["that failed", { phase: "Failed" }, "PodFailed", "Pod failed"],
  ] as const)("a Pod %s is not Ready", ([, status, reason, message]) => {
    const decision = decide({ sandbox: sandbox(), pod: pod(status as Pod["status"]) }, now);
    expect(readyOf(decision)).toEqual(condition("Ready", "False", reason, message));
    expect(decision.actions).toEqual([]);
  });

  test("a finished Pod leaves the condition Finished, which goes when the Pod is replaced", () => {
    const done = decide({ sandbox: sandbox(), pod: pod({ phase: "Succeeded" }) }, now).status ?? {};
    expect(done.conditions).toContainEqual(condition("Finished", "True", "PodSucceeded", "Pod completed successfully"));
    const replaced = decide({ sandbox: sandbox({}, { status: done }), pod: pod(running) }, now);
    expect(replaced.status?.conditions?.map(({ type }) => type)).toEqual(["Suspended", "PodScheduled", "Ready"]);
  });

  test("keeps the time of a condition whose status stays", () => {
    const before = { ...notSuspended, lastTransitionTime: earlier, message: "other" };
    const seen = { sandbox: sandbox({}, { status: { conditions: [before] } }), pod: undefined };
    expect(decide(seen, now).status?.conditions?.[0]).toEqual({ ...notSuspended, lastTransitionTime: earlier });
  });

  describe("suspended", () => {
    const suspended = sandbox({ operatingMode: "Suspended" });
    test.for<[string, Observed, Decision["actions"], Partial<Condition>, string]>([
      [
        "deletes the Pod it owns",
        { sandbox: suspended, pod: pod(running) },
        [{ do: "delete-pod", name: "my-sandbox", uid: "pod-1" }],
        condition("Suspended", "False", "PodTerminating", "Pod is terminating. Sandbox is suspending"),
        "Sandbox is suspending",
      ],
      [
        "deletes it once",
        { sandbox: suspended, pod: pod(running, { deletionTimestamp: earlier }) },
        [],
        condition("Suspended", "False", "PodTerminating", "Pod is terminating. Sandbox is suspending"),
        "Sandbox is suspending",
      ],
      [
        "is done when the Pod is gone",
        { sandbox: suspended, pod: undefined },
        [],
        condition("Suspended", "True", "PodTerminated", "Pod has been terminated. Sandbox is suspended"),
        "Sandbox is suspended",
      ],
      [
        "never deletes a stranger's Pod",
        { sandbox: suspended, pod: pod(running, { ownerReferences: [] }) },
        [],
        condition("Suspended", "False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox"),
        "Sandbox is suspending",
      ],
    ])("%s", ([, seen, actions, suspendedCondition, message]) => {
      const decision = decide(seen, now);
      expect(decision.actions).toEqual(actions);
      expect(decision.status?.conditions?.[0]).toEqual(suspendedCondition);
      expect(readyOf(decision)).toEqual(condition("Ready", "False", "SandboxSuspended", message));
    });

    test("forgets addresses and node, and keeps the selector", () => {
      const status = { selector: "s", podIPs: ["10.0.0.2"], nodeName: "box" };
      const decision = decide({ sandbox: { ...suspended, status }, pod: undefined }, now);
      expect(decision.status).toEqual({ selector: "s", conditions: expect.any(Array) as unknown });
    });
  });

  test.for([
    ["nobody", []],
    ["an earlier Sandbox of the same name", [{ ...owner, uid: "uid-0" }]],
    ["a Deployment", [{ ...owner, kind: "ReplicaSet", uid: "rs-1" }]],
  ] as const)("leaves a Pod of %s alone and says so", ([, ownerReferences]) => {
    const decision = decide({ sandbox: sandbox(), pod: pod(running, { ownerReferences: [...ownerReferences] }) }, now);
    expect(decision.actions).toEqual([]);
    expect(readyOf(decision)).toMatchObject({ status: "False", reason: "ReconcilerError" });
    expect(decision.status).not.toHaveProperty("podIPs");
  });

  test.for<[string, Partial<SandboxSpec>]>([
    ["spec.volumeClaimTemplates", { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] }],
    ["spec.service", { service: true }],
    ["spec.shutdownTime", { shutdownTime: "2027-01-01T00:00:00Z" }],
    ["spec.idlePolicy", { idlePolicy: { suspendAfterSeconds: 60 } }],
    ["spec.runtime", { runtime: "Injected" }],
  ])("refuses %s by name and does nothing", ([field, spec]) => {
    const decision = decide({ sandbox: sandbox(spec), pod: undefined }, now);
    expect(decision.actions).toEqual([]);
    expect(readyOf(decision)).toMatchObject({
      reason: "ReconcilerError",
      message: `Error seen: ${field} is not supported yet: remove it`,
    });
  });

  test("does nothing about a Sandbox that is being deleted", () => {
    const going = sandbox({}, { metadata: { ...sandbox().metadata, deletionTimestamp: earlier } });
    expect(decide({ sandbox: going, pod: pod(running) }, now)).toEqual({ actions: [], status: undefined });
  });

  test("copies the template's metadata without what is reserved, and notes the keys", () => {
    const metadata = {
      labels: { b: "2", a: "1", "agents.x-k8s.io/sandbox-name-hash": "evil", "extensions.agents.x-k8s.io/x": "y" },
      annotations: { note: "n", "agents.x-k8s.io/pod-name": "evil", "opentelemetry.io/trace-context": "{}" },
    };
    const seen = sandbox({ podTemplate: { metadata, spec: { containers: [] } } });
    const [action] = decide({ sandbox: seen, pod: undefined }, now).actions;
    expect(action?.do === "create-pod" && action.pod.metadata).toMatchObject({
      labels: { a: "1", b: "2", "agents.x-k8s.io/sandbox-name-hash": hash },
      annotations: {
        note: "n",
        "agents.x-k8s.io/propagated-labels": "a,b",
        "agents.x-k8s.io/propagated-annotations": "note",
      },
    });
  });

  test("a copied scheduling reason never breaks our own schema", () => {
    const bad = { type: "PodScheduled", status: "False", reason: "no room!", message: "m".repeat(40_000) };
    const decision = decide({ sandbox: sandbox(), pod: pod({ phase: "Pending", conditions: [bad] }) }, now);
    const found = decision.status?.conditions?.find(({ type }) => type === "PodScheduled");
    expect(found).toMatchObject({ reason: "no_room", message: "m".repeat(32_768) });
  });
});

import { type Pod, type Sandbox, type SandboxClaim, sleepReason } from "@agent-sandbox/api";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Route } from "../route/route.ts";
import { type ClusterView, resolve } from "./resolve.ts";

const route: Route = {
  by: "header",
  namespace: "default",
  name: "box",
  port: 80,
  uid: undefined,
  podIp: undefined,
  target: "/",
};

function sandbox(
  over: { spec?: Partial<Sandbox["spec"]>; metadata?: Sandbox["metadata"]; status?: Sandbox["status"] } = {},
): Sandbox {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "box", namespace: "default", uid: "s1", ...over.metadata },
    spec: { podTemplate: { spec: { containers: [] } }, idlePolicy: { suspendAfterSeconds: 600 }, ...over.spec },
    ...(over.status === undefined ? {} : { status: over.status }),
  };
}

const pod = (status: Pod["status"] = {}, metadata: Pod["metadata"] = {}): Pod => ({
  metadata: { name: "box", namespace: "default", uid: "p1", ...metadata },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
    conditions: [{ type: "Ready", status: "True" }],
    ...status,
  },
});

const condition = (type: string, status: "True" | "False", reason: string, message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const idle = { conditions: [condition("Suspended", "True", "Idle")] };

const used = (second: string) => ({ annotations: { "agents.x-k8s.io/last-activity": `2026-01-01T00:00:${second}Z` } });

function view(sandboxes: Sandbox[], pods: Pod[] = [], claims: SandboxClaim[] = []): ClusterView {
  return {
    sandbox: (namespace, name) =>
      sandboxes.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    sandboxByUid: (uid) => sandboxes.find(({ metadata }) => metadata.uid === uid),
    claim: (_, name) => claims.find(({ metadata }) => metadata.name === name),
    podsOf: ({ metadata: { uid } }) => (uid === "s1" ? pods : []),
  };
}

/** The state and its most important detail. */
function outcome(known: ClusterView, over: Partial<Route> = {}): string {
  const found = resolve({ ...route, ...over }, known);
  switch (found.state) {
    case "ready":
      return `ready ${found.target.podUid} ${found.target.ip}:${found.target.port}`;
    case "asleep":
      return `asleep ${found.by}`;
    case "starting":
      return `starting ${found.problem?.reason ?? ""}`.trim();
    case "closed":
      return found.reason;
    default:
      return found.state;
  }
}

const waiting = (reason: string): Pod["status"] => ({
  phase: "Pending",
  conditions: [],
  containerStatuses: [
    { name: "main", state: { waiting: { reason } }, ready: false, image: "", imageID: "", restartCount: 0 },
  ],
});

const save = { annotations: { "agents.x-k8s.io/save": "0" } };
const podCondition = (name: string, status: string) => ({ type: `agents.x-k8s.io/${name}`, status });

describe("the state of a sandbox", () => {
  test.for<[string, ClusterView, string]>([
    ["nothing of that name", view([]), "SandboxNotFound"],
    ["a pod that is ready", view([sandbox()], [pod()]), "ready p1 10.0.0.1:80"],
    ["no pod yet", view([sandbox()]), "starting"],
    ["a pod that is not ready", view([sandbox()], [pod({ conditions: [] })]), "starting"],
    ["a pod without an address", view([sandbox()], [pod({ podIP: "", podIPs: [] })]), "starting"],
    [
      "a pod that is going away",
      view([sandbox()], [pod({}, { deletionTimestamp: "2026-01-01T00:00:00Z" })]),
      "starting",
    ],
    [
      "an old pod beside a new one",
      view([sandbox()], [pod({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), pod({}, { uid: "p2" })]),
      "ready p2 10.0.0.1:80",
    ],
    [
      "a pod whose status names the machine, a link or a name",
      view([sandbox()], [pod({ podIP: "169.254.169.254", podIPs: [{ ip: "0.0.0.0" }, { ip: "localhost" }] })]),
      "starting",
    ],
    ["a pod that failed", view([sandbox()], [pod({ phase: "Failed", conditions: [] })]), "SandboxFinished"],
    [
      "a sandbox that finished",
      view([sandbox({ status: { conditions: [condition("Finished", "True", "PodSucceeded")] } })]),
      "SandboxFinished",
    ],
    [
      "a sandbox that is being deleted",
      view([sandbox({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })], [pod()]),
      "SandboxNotFound",
    ],
    [
      "a sandbox that expired",
      view([sandbox({ status: { conditions: [condition("Ready", "False", "SandboxExpired")] } })]),
      "SandboxExpired",
    ],
    ["idle", view([sandbox({ status: idle })]), "asleep activity"],
    [
      "idle, not to be woken by traffic",
      view([sandbox({ status: idle, spec: { resumePolicy: "Manual" } })]),
      "SandboxSuspended",
    ],
    ["idle, its pod about to go", view([sandbox({ status: idle })], [pod()]), "asleep activity"],
    [
      "idle since the activity that is known",
      view([sandbox({ metadata: used("01"), status: { ...idle, lastActivityTime: "2026-01-01T00:00:01Z" } })]),
      "asleep activity",
    ],
    [
      "idle, and used since",
      view([sandbox({ metadata: used("02"), status: { ...idle, lastActivityTime: "2026-01-01T00:00:01Z" } })]),
      "starting",
    ],
    [
      "idle, used since, and awake",
      view([sandbox({ metadata: used("02"), status: idle })], [pod()]),
      "ready p1 10.0.0.1:80",
    ],
    [
      "idle, with an activity annotation that is not a time",
      view([sandbox({ metadata: { annotations: { "agents.x-k8s.io/last-activity": "soon" } }, status: idle })]),
      "asleep activity",
    ],
    ["idle, its idle policy removed since", view([sandbox({ status: idle, spec: { idlePolicy: {} } })]), "starting"],
    [
      "resumed by someone, its status behind",
      view([
        sandbox({
          status: { conditions: [condition("Suspended", "True", "PodTerminated")] },
          spec: { resumePolicy: "Manual" },
        }),
      ]),
      "starting",
    ],
    ["suspended by someone", view([sandbox({ spec: { operatingMode: "Suspended" } })]), "SandboxSuspended"],
    [
      "suspended by someone, its pod still there",
      view([sandbox({ spec: { operatingMode: "Suspended" } })], [pod()]),
      "SandboxSuspended",
    ],
    [
      "suspended by someone who left waking to traffic",
      view([sandbox({ spec: { operatingMode: "Suspended", resumePolicy: "OnTraffic" } })]),
      "asleep mode",
    ],
    [
      "no node has room",
      view([sandbox()], [pod({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False" }] })]),
      "starting Unschedulable",
    ],
    ["a first failed pull", view([sandbox()], [pod(waiting("ErrImagePull"))]), "starting ImageUnavailable"],
    ["a pull that keeps failing", view([sandbox()], [pod(waiting("ImagePullBackOff"))]), "ImageUnavailable"],
    ["a command that keeps crashing", view([sandbox()], [pod(waiting("CrashLoopBackOff"))]), "SandboxCrashing"],
    [
      "a container that cannot be made",
      view([sandbox()], [pod(waiting("CreateContainerError"))]),
      "starting SandboxCrashing",
    ],
    ["a pod that is to be saved", view([sandbox()], [pod({}, save)]), "starting"],
    [
      "a pod that is saved and has ended",
      view([sandbox()], [pod({ phase: "Succeeded", conditions: [podCondition("Saved", "True")] }, save)]),
      "starting",
    ],
    [
      "a pod that could not be saved and continues",
      view(
        [sandbox()],
        [pod({ conditions: [podCondition("Saved", "False"), { type: "Ready", status: "True" }] }, save)],
      ),
      "ready p1 10.0.0.1:80",
    ],
    [
      "a pod whose memory cannot be restored",
      view([sandbox()], [pod({ phase: "Pending", conditions: [{ type: "PodRestored", status: "False" }] })]),
      "starting SandboxStarting",
    ],
    [
      "a controller that fails",
      view([sandbox({ status: { conditions: [condition("Ready", "False", "ReconcilerError", "no")] } })]),
      "starting SandboxStarting",
    ],
  ])("%s", ([, known, expected]) => {
    expect(outcome(known)).toBe(expected);
  });
});

test("treats a sandbox as asleep exactly when the controller does, whatever its annotation says", () => {
  const time = fc.constantFrom("2026-01-01T00:00:01Z", "2026-01-01T01:00:01+01:00", "2099-01-01T00:00:00Z", "soon", "");
  const cases = fc.record({
    activity: fc.oneof(fc.constant(undefined), time, fc.string()),
    judged: fc.oneof(fc.constant(undefined), time),
    reason: fc.constantFrom("Idle", "PodTerminated", "NotSuspended"),
    idlePolicy: fc.constantFrom({}, { suspendAfterSeconds: 10 }, { deleteAfterSeconds: 60 }),
    operatingMode: fc.constantFrom("Running" as const, "Suspended" as const),
    resumePolicy: fc.constantFrom("OnTraffic" as const, "Manual" as const),
  });
  fc.assert(
    fc.property(cases, ({ activity, judged, reason, ...spec }) => {
      const annotations = activity === undefined ? {} : { "agents.x-k8s.io/last-activity": activity };
      const lastActivityTime = judged === undefined ? {} : { lastActivityTime: judged };
      const status = { conditions: [condition("Suspended", "True", reason)], ...lastActivityTime };
      const object = sandbox({ metadata: { annotations }, spec, status });
      const isAsleep = !outcome(view([object], [pod()])).startsWith("ready");
      expect(isAsleep).toBe(sleepReason(object) !== undefined);
    }),
  );
});

describe("names and addresses", () => {
  const pooled = sandbox({ metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "h" } } });
  const claim = (name: string, uid: string): SandboxClaim => ({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name, namespace: "default", uid },
    spec: { warmPoolRef: { name: "p" } },
    status: { sandbox: { name: "box" } },
  });
  const held = sandbox({ metadata: { labels: { "agents.x-k8s.io/claim-uid": "c1" } } });

  test.for<[string, ClusterView, Partial<Route>, string]>([
    [
      "takes the address that was asked for among the pod's own",
      view([sandbox()], [pod()]),
      { podIp: "fd00::1" },
      "ready p1 fd00::1:80",
    ],
    ["ignores any other address", view([sandbox()], [pod()]), { podIp: "10.0.0.2" }, "ready p1 10.0.0.1:80"],
    ["finds a member of a pool by its UID", view([pooled], [pod()]), { uid: "s1" }, "ready p1 10.0.0.1:80"],
    ["does not find a member of a pool by its name", view([pooled], [pod()]), {}, "SandboxNotFound"],
    [
      "does not find a UID under another name",
      view([sandbox()], [pod()]),
      { name: "other", uid: "s1" },
      "SandboxNotFound",
    ],
    ["does not find a UID that is not there", view([sandbox()], [pod()]), { uid: "s2" }, "SandboxNotFound"],
    [
      "does not find a UID in another namespace",
      view([sandbox()], [pod()]),
      { namespace: "other", uid: "s1" },
      "SandboxNotFound",
    ],
    ["finds a claim's Sandbox", view([held], [pod()], [claim("mine", "c1")]), { name: "mine" }, "ready p1 10.0.0.1:80"],
    [
      "finds a claim's Sandbox by UID too",
      view([held], [pod()], [claim("mine", "c1")]),
      { name: "mine", uid: "s1" },
      "ready p1 10.0.0.1:80",
    ],
    [
      "waits for a claim that does not hold its Sandbox",
      view([held], [pod()], [claim("mine", "c2")]),
      { name: "mine" },
      "pending",
    ],
    [
      "prefers the Sandbox of that name to the claim",
      view([sandbox()], [pod()], [claim("box", "c1")]),
      {},
      "ready p1 10.0.0.1:80",
    ],
  ])("%s", ([, known, over, expected]) => {
    expect(outcome(known, over)).toBe(expected);
  });
});

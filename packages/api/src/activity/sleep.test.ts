import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lastActivityAnnotation } from "../annotations.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";
import { anySandbox } from "./any-sandbox.test.support.ts";
import { idleWindowMs } from "./idle-policy.ts";
import { lastActivityMs } from "./last-activity.ts";
import { isPodOfSandbox, trackedPodName } from "./pod-of-sandbox.ts";
import { sleepReason, wakeBy } from "./sleep.ts";

const idle = [{ type: "Suspended", status: "True" as const, reason: "Idle", message: "", lastTransitionTime: "" }];

interface Case {
  readonly spec?: Partial<Sandbox["spec"]>;
  readonly activity?: string;
  readonly status?: Sandbox["status"];
  readonly controller?: string;
  readonly generation?: number;
}

const sandbox = ({ spec, activity, status, controller, generation = 1 }: Case): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: {
    name: "box",
    namespace: "default",
    uid: "s1",
    generation,
    ...(activity !== undefined && { annotations: { [lastActivityAnnotation]: activity } }),
    ...(controller && {
      ownerReferences: [
        { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: controller, name: "o", uid: "o1", controller: true },
      ],
    }),
  },
  spec: { podTemplate: { spec: { containers: [] } }, idlePolicy: { suspendAfterSeconds: 600 }, ...spec },
  ...(status && { status }),
});

const notSuspended = { ...idle[0], type: "Suspended", status: "False", observedGeneration: 1, message: "" } as const;
const refused = { conditions: [{ ...notSuspended, reason: "RuntimeCannotSave", lastTransitionTime: "" }] };
const saving = { conditions: [{ ...notSuspended, reason: "Saving", lastTransitionTime: "" }] };
const refusing: Case["spec"] = { operatingMode: "Suspended", suspendPolicy: { depth: "Memory", fallback: "Refuse" } };

const judged = { lastActivityTime: "2026-01-01T00:00:00Z", conditions: idle };

test.for<[string, Case, ReturnType<typeof sleepReason>, ReturnType<typeof wakeBy>]>([
  ["running", {}, undefined, undefined],
  ["idle, and never used", { status: { conditions: idle } }, "idle", "activity"],
  [
    "idle since the activity it was judged by",
    { status: judged, activity: "2026-01-01T00:00:00Z" },
    "idle",
    "activity",
  ],
  [
    "idle, the same time in another notation",
    { status: judged, activity: "2025-12-31T23:00:00-01:00" },
    "idle",
    "activity",
  ],
  ["idle, and used since", { status: judged, activity: "2026-01-01T00:00:01Z" }, undefined, undefined],
  [
    "idle, and used by a clock that is behind",
    { status: judged, activity: "2025-01-01T00:00:00Z" },
    undefined,
    undefined,
  ],
  ["idle, with an annotation that is not a time", { status: judged, activity: "soon" }, "idle", "activity"],
  ["idle, with an empty annotation", { status: judged, activity: "" }, "idle", "activity"],
  ["idle, with a very long annotation", { status: judged, activity: "2".repeat(100_000) }, "idle", "activity"],
  ["idle, and only its user may wake it", { status: judged, spec: { resumePolicy: "Manual" } }, "idle", undefined],
  ["idle, its policy removed since", { status: judged, spec: { idlePolicy: {} } }, undefined, undefined],
  [
    "idle, only ever to be deleted",
    { status: judged, spec: { idlePolicy: { deleteAfterSeconds: 60 } } },
    undefined,
    undefined,
  ],
  ["a pool member, whatever its status says", { status: judged, controller: "SandboxWarmPool" }, undefined, undefined],
  ["claimed, and idle", { status: judged, controller: "SandboxClaim" }, "idle", "activity"],
  ["suspended by its author", { spec: { operatingMode: "Suspended" } }, "spec", undefined],
  [
    "suspended by its author until there is traffic",
    { spec: { operatingMode: "Suspended", resumePolicy: "OnTraffic" } },
    "spec",
    "mode",
  ],
  ["suspended by its author, but refused", { spec: refusing, status: refused }, undefined, undefined],
  ["refused in an earlier generation", { spec: refusing, status: refused, generation: 2 }, "spec", undefined],
  [
    "refused before its author allowed a lower depth",
    { spec: { ...refusing, suspendPolicy: { depth: "Memory" } }, status: refused },
    "spec",
    undefined,
  ],
  ["suspended, with a reason that refuses nothing", { spec: refusing, status: saving }, "spec", undefined],
])("a Sandbox that is %s", ([, given, reason, by]) => {
  const object = sandbox(given);
  expect([sleepReason(object), wakeBy(object)]).toEqual([reason, by]);
});

test("text that is not a time never changes whether a Sandbox is asleep (SLEEP-20)", () => {
  const garbage = fc.string().filter((text) => Number.isNaN(Date.parse(text)));
  fc.assert(
    fc.property(anySandbox, garbage, (object, text) => {
      const { annotations: _, ...metadata } = object.metadata;
      const broken = { ...object, metadata: { ...metadata, annotations: { [lastActivityAnnotation]: text } } };
      expect(sleepReason(broken)).toBe(sleepReason({ ...object, metadata }));
    }),
  );
});

test("traffic may wake only a Sandbox that is asleep (SLEEP-21)", () => {
  fc.assert(
    fc.property(anySandbox, (object) => {
      const isAsleep = sleepReason(object) !== undefined;
      expect(wakeBy(object) === undefined || isAsleep).toBe(true);
    }),
  );
});

test("the idle window is the shorter limit; pool members have none", () => {
  const spec = { idlePolicy: { suspendAfterSeconds: 120, deleteAfterSeconds: 60 } };
  expect([
    idleWindowMs(sandbox({ spec })),
    idleWindowMs(sandbox({ spec: { idlePolicy: {} } })),
    idleWindowMs(sandbox({ spec, controller: "SandboxWarmPool" })),
  ]).toEqual([60_000, undefined, undefined]);
});

test("recorded activity counts unless it is in the future", () => {
  const object = sandbox({ activity: "2026-01-01T00:00:01Z" });
  const at = Date.UTC(2026, 0, 1, 0, 0, 1);
  expect([lastActivityMs(object, at), lastActivityMs(object, at - 1)]).toEqual([at, undefined]);
});

test("a Pod is a Sandbox's only by its name, namespace and the whole owner reference", () => {
  const owner = { apiVersion: "agents.x-k8s.io/v1alpha1", kind: "Sandbox", name: "box", uid: "s1", controller: true };
  const pod = (over: object = {}, reference: object = {}) => ({
    metadata: { name: "box", namespace: "default", ownerReferences: [{ ...owner, ...reference }], ...over },
  });
  const object = sandbox({});
  expect(trackedPodName(object)).toBe("box");
  expect(isPodOfSandbox(object, pod())).toBe(true);
  for (const other of [
    pod({ name: "other" }),
    pod({ namespace: "other" }),
    pod({ ownerReferences: [] }),
    pod({}, { uid: "s2" }),
    pod({}, { name: "other" }),
    pod({}, { kind: "ReplicaSet" }),
    pod({}, { apiVersion: "apps/v1" }),
    pod({}, { controller: false }),
  ])
    expect(isPodOfSandbox(object, other)).toBe(false);
});

test("a Sandbox without a UID has no Pod", () => {
  const { uid: _, ...metadata } = sandbox({}).metadata;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "box", uid: "", controller: true };
  const pod = { metadata: { name: "box", namespace: "default", ownerReferences: [owner] } };
  expect(isPodOfSandbox({ ...sandbox({}), metadata }, pod)).toBe(false);
});

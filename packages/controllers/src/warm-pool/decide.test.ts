import type { Sandbox, SandboxWarmPool } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import {
  condition,
  created,
  epoch,
  memberNamed,
  poolOf,
  readyStatus,
  startingStatus,
  templateOf,
} from "../extensions.test.support.ts";
import { blueprintOf } from "../template/blueprint.ts";
import { type Decision, decide } from "./decide.ts";
import { judge, look, type Scene } from "./pool.test.support.ts";

const minute = 60_000;
const at = (scene: Scene, now = epoch): Decision => judge(scene, now);
const names = (sandboxes: readonly Sandbox[]) => sandboxes.map(({ metadata }) => metadata.name);
/** What happens to the members, in short: `+2` makes two, `-a` deletes one. */
function moves({ actions }: Decision): string[] {
  return actions.flatMap((action) => {
    if (action.do === "create") return [`+${action.count}`];
    if (action.do === "adopt") return names(action.orphans).map((name) => `adopt ${name}`);
    return names(action.members).map((name) => `${action.do === "delete" ? "-" : "mark "}${name}`);
  });
}
const readyOf = ({ status }: Decision) => status?.conditions?.find(({ type }) => type === "Ready");
const orphan = (name: string, over: Parameters<typeof memberNamed>[1] = {}): Sandbox =>
  memberNamed(name, { ...over, metadata: { ...over.metadata, ownerReferences: [] } });
const unready = (name: string, over: Parameters<typeof memberNamed>[1] = {}) =>
  memberNamed(name, { status: startingStatus, ...over });
const reported = (status: SandboxWarmPool["status"], spec = {}) => ({ ...poolOf(spec), ...(status && { status }) });

describe("decide(): replica accounting", () => {
  test.for([
    [undefined, ["+1"]],
    [3, ["+3"]],
    [0, []],
  ] as const)("creates the members for replicas %s (POOL-1)", ([replicas, expected]) => {
    const pool = poolOf(replicas === undefined ? {} : { replicas });
    if (replicas === undefined) delete pool.spec.replicas;
    const decision = at({ pool });
    expect(moves(decision)).toEqual(expected);
    expect(decision.status?.selector).toBe("agents.x-k8s.io/warm-pool-sandbox=91dd7983");
  });

  test("deletes a member that is not Ready first, else the newest (POOL-2)", () => {
    const later = { creationTimestamp: "2026-03-01T10:00:09Z" };
    const some = [memberNamed("a"), memberNamed("b"), memberNamed("c", { metadata: later })];
    expect(moves(at({ sandboxes: [...some, unready("d")] }))).toEqual(["-d"]);
    expect(moves(at({ sandboxes: [...some, memberNamed("d")] }))).toEqual(["-c"]);
  });

  test("adopts and counts a Sandbox without controller that matches the template (POOL-4)", () => {
    expect(moves(at({ sandboxes: [orphan("a"), memberNamed("b")] }))).toEqual(["adopt a", "+1"]);
  });

  test("deletes a Sandbox without controller when the pool is full (POOL-5)", () => {
    const full = ["a", "b", "c"].map((name) => memberNamed(name));
    expect(moves(at({ sandboxes: [...full, orphan("d")] }))).toEqual(["-d"]);
  });

  test("deletes a Sandbox without controller that has the right hash and another Pod spec (POOL-6)", () => {
    const altered = orphan("a");
    const podTemplate = { ...altered.spec.podTemplate, spec: { containers: [{ name: "c", image: "evil" }] } };
    const forged = { ...altered, spec: { ...altered.spec, podTemplate } };
    expect(moves(at({ sandboxes: [forged] }))).toEqual(["-a", "+3"]);
  });

  test("leaves Sandboxes without controller alone while the template is missing (POOL-7)", () => {
    expect(moves(at({ sandboxes: [orphan("a")], template: null }))).toEqual([]);
  });

  test("ignores Sandboxes of other controllers and namespaces (POOL-9)", () => {
    const other = poolOf({}, { uid: "other-uid" });
    const elsewhere = memberNamed("b", { metadata: { namespace: "elsewhere" } });
    expect(moves(at({ sandboxes: [memberNamed("a", { pool: other }), elsewhere] }))).toEqual(["+3"]);
  });

  test.for([
    [condition("Ready", "False", "X")],
    [condition("Ready", "Unknown", "X")],
    [condition("PodScheduled", "True", "X")],
  ])("does not count a member as ready with %j (POOL-10)", ([given]) => {
    const { status } = at({ sandboxes: [memberNamed("a", { status: { conditions: given ? [given] : [] } })] });
    expect(status).toMatchObject({ replicas: 1, readyReplicas: 0 });
  });

  test("reports the observed generation (POOL-11)", () => {
    expect(at({ pool: poolOf({}, { generation: 4 }) }).status?.observedGeneration).toBe(4);
  });

  test("reports counts that fall to zero as zero (POOL-12)", () => {
    const status = { replicas: 2, readyReplicas: 2, observedGeneration: 1 };
    expect(at({ pool: reported(status, { replicas: 0 }) }).status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });

  test("creates nothing without a template, and reports it (POOL-13)", () => {
    const decision = at({ template: null, sandboxes: [memberNamed("a")] });
    expect(moves(decision)).toEqual([]);
    expect(decision.status).toMatchObject({
      replicas: 1,
      conditions: [
        { type: "TemplateFound", status: "False", reason: "TemplateNotFound" },
        {
          type: "Ready",
          status: "False",
          reason: "TemplateNotFound",
          message: 'SandboxTemplate "test-template" not found',
        },
      ],
    });
  });

  test("deletes a member that is not Ready after the grace, and creates none yet (POOL-14)", () => {
    expect(
      moves(at({ sandboxes: [unready("a"), memberNamed("b"), memberNamed("c")] }, epoch + 5 * minute + 1)),
    ).toEqual(["-a"]);
  });

  test("keeps a member until the end of its grace (POOL-14)", () => {
    const sandboxes = [unready("a"), memberNamed("b"), memberNamed("c")];
    expect(moves(at({ sandboxes }, epoch + 5 * minute))).toEqual([]);
  });

  test("counts a stuck member as one of the members to remove (POOL-3)", () => {
    const sandboxes = [unready("a"), ...["b", "c", "d"].map((name) => memberNamed(name))];
    expect(moves(at({ sandboxes }, epoch + 6 * minute))).toEqual(["-a"]);
  });

  test("gives the whole grace to a member that stops being Ready later (POOL-15)", () => {
    const stumbled = condition("Ready", "False", "DependenciesNotReady", {
      lastTransitionTime: "2026-03-01T11:00:00Z",
    });
    const members = [memberNamed("a", { status: { conditions: [stumbled] } }), memberNamed("b"), memberNamed("c")];
    const anHour = epoch + 60 * minute;
    expect(moves(at({ sandboxes: members }, anHour + minute))).toEqual([]);
    expect(moves(at({ sandboxes: members }, anHour + 5 * minute + 1))).toEqual(["-a"]);
  });

  test("requeues for the end of the earliest grace, and not at all for a Ready pool (POOL-16)", () => {
    const later = { creationTimestamp: "2026-03-01T10:02:00Z" };
    const sandboxes = [unready("a"), unready("b", { metadata: later, status: {} }), memberNamed("c")];
    const { memory, requeueAt } = at({ sandboxes, memory: { unreportedSince: epoch } }, epoch + 3 * minute);
    expect([memory.checkUnreadyAt, requeueAt]).toEqual([epoch + 5 * minute + 2_000, epoch + 5 * minute + 2_000]);
    const full = at({ sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)) });
    expect(full.requeueAt).toBeUndefined();
  });

  const unschedulable = {
    conditions: [
      condition("Ready", "False", "DependenciesNotReady"),
      condition("PodScheduled", "False", "Unschedulable"),
    ],
  };

  test("keeps an unschedulable member, with one event when it starts and one when it ends (POOL-17)", () => {
    const sandboxes = [unready("a", { status: unschedulable }), memberNamed("b"), memberNamed("c")];
    const now = epoch + 6 * minute;
    const first = at({ sandboxes }, now);
    expect(moves(first)).toEqual([]);
    expect(first.requeueAt).toBe(now + minute);
    expect(first.events).toMatchObject([{ type: "Warning", reason: "WarmPoolNotProgressing", action: "Reconciling" }]);
    expect(readyOf(first)).toMatchObject({ status: "False", reason: "Unschedulable" });
    expect(at({ sandboxes, memory: first.memory }, now + minute).events).toEqual([]);
    const over = at({ sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)), memory: first.memory }, now);
    expect(over.events).toMatchObject([{ type: "Normal", reason: "WarmPoolProgressing", action: "Reconciling" }]);
    expect(over.memory.isHeldUp).toBeUndefined();
  });

  test("uses the configured grace and recheck interval (POOL-18)", () => {
    const settings = { readinessGraceMs: 10 * minute, recheckMs: 30_000 };
    const sandboxes = [unready("a", { status: unschedulable }), memberNamed("b"), memberNamed("c")];
    expect(at({ sandboxes, settings }, epoch + 6 * minute).memory.checkUnreadyAt).toBe(epoch + 10 * minute + 2_000);
    expect(at({ sandboxes, settings }, epoch + 11 * minute).requeueAt).toBe(epoch + 11 * minute + 30_000);
  });

  test("counts a terminating member against the size but does not report it (POOL-19)", () => {
    const pool = poolOf({ replicas: 2 });
    const sandboxes = [memberNamed("a"), memberNamed("b", { metadata: { deletionTimestamp: created } })];
    const decision = at({ pool, sandboxes });
    expect(moves(decision)).toEqual([]);
    expect(decision.status).toMatchObject({ replicas: 1 });
  });

  test("does nothing for a pool that is being deleted (POOL-24)", () => {
    const pool = poolOf({}, { deletionTimestamp: created });
    expect(at({ pool, sandboxes: [memberNamed("a")], memory: { refill: { lastCount: 1 } } })).toEqual({
      actions: [],
      events: [],
      memory: {},
    });
  });

  test("labels a member that lacks its launch type, and counts it meanwhile (POOL-48)", () => {
    const bare = memberNamed("a");
    const { "agents.x-k8s.io/launch-type": _, ...labels } = bare.metadata.labels ?? {};
    const sandboxes = [{ ...bare, metadata: { ...bare.metadata, labels } }, memberNamed("b"), memberNamed("c")];
    expect(moves(at({ sandboxes }))).toEqual(["mark a"]);
  });

  test("reports what failed together with the counts (POOL-49)", () => {
    const decision = at({ failure: "quota exceeded", sandboxes: [memberNamed("a")] });
    expect(decision.status).toMatchObject({ replicas: 1, readyReplicas: 1 });
    expect(readyOf(decision)).toMatchObject({ reason: "ReconcilerError", message: "Error seen: quota exceeded" });
  });
});

describe("decide(): status writes", () => {
  const full = ["a", "b", "c"].map((name) => memberNamed(name));
  const settledStatus = at({ sandboxes: full }).status;
  const settled = reported(settledStatus);

  test("does not write an unchanged status (POOL-50)", () => {
    const decision = at({ pool: settled, sandboxes: full });
    expect([decision.status, decision.requeueAt]).toEqual([undefined, undefined]);
  });

  test("delays the status when a member was taken, and drops it when the member is replaced in time (POOL-50)", () => {
    const taken = at({ pool: settled, sandboxes: full.slice(1) });
    expect([moves(taken), taken.status, taken.requeueAt]).toEqual([["+1"], undefined, epoch + 5_000]);
    const late = at({ pool: settled, sandboxes: full.slice(1), memory: taken.memory }, epoch + 5_000);
    expect(late.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
    const replaced = at({ pool: settled, sandboxes: full, memory: taken.memory }, epoch + 1_000);
    expect([replaced.status, replaced.memory.unreportedSince]).toEqual([undefined, undefined]);
  });

  test("writes at once when the pool is full, has a new generation, or lost its template (POOL-50)", () => {
    const partly = reported(at({ sandboxes: full.slice(1) }).status);
    expect(at({ pool: partly, sandboxes: full }).status).toMatchObject({ readyReplicas: 3 });
    const scaled = { ...settled, metadata: { ...settled.metadata, generation: 2 } };
    expect(at({ pool: scaled, sandboxes: full }).status).toMatchObject({ observedGeneration: 2 });
    expect(at({ pool: settled, sandboxes: full, template: null }).status?.conditions).toMatchObject([
      { type: "TemplateFound", status: "False" },
      { type: "Ready", status: "True" },
    ]);
  });
});

describe("decide(): templates and strategies", () => {
  const recreate = poolOf({ updateStrategy: { type: "Recreate" } });
  const members = ["a", "b", "c"].map((name) => memberNamed(name));
  const withPod = (pod: object) =>
    templateOf({ podTemplate: { spec: { containers: [{ name: "c", image: "host" }], ...pod } } });
  const changed = withPod({ containers: [{ name: "c", image: "newer" }] });

  test.for([
    ["image", changed],
    ["env", withPod({ containers: [{ name: "c", image: "host", env: [{ name: "A", value: "1" }] }] })],
    ["DNS", withPod({ dnsPolicy: "ClusterFirst" })],
    ["network rules, which change DNS", templateOf({ networkPolicy: {} })],
  ] as const)(
    "deletes all members with Recreate at a change of %s, then creates new ones (POOL-25)",
    ([, template]) => {
      expect(moves(at({ pool: recreate, sandboxes: members, template }))).toEqual(["-a", "-b", "-c"]);
      const [made] = at({ pool: recreate, template }).actions;
      expect(made?.do === "create" && made.member.metadata.labels?.["agents.x-k8s.io/sandbox-template-hash"]).toBe(
        blueprintOf(template).hash,
      );
    },
  );

  test.for([
    ["explicit", { updateStrategy: { type: "OnReplenish" } } as const],
    ["absent", {}],
    ["empty", { updateStrategy: {} }],
  ] as const)(
    "keeps old members with OnReplenish (%s) and creates new ones from the new template (POOL-26)",
    ([, spec]) => {
      const pool = poolOf(spec);
      expect(moves(at({ pool, sandboxes: members, template: changed }))).toEqual([]);
      const [made] = at({ pool, sandboxes: members.slice(1), template: changed }).actions;
      expect(made).toMatchObject({
        do: "create",
        count: 1,
        member: { spec: { podTemplate: { spec: { containers: [{ image: "newer" }] } } } },
      });
    },
  );

  const claim = (name: string, storage: string, over: object = {}) => ({
    metadata: { name, ...over },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
  });
  const withVolumes = templateOf({ volumeClaimTemplates: [claim("a", "1Gi"), claim("b", "1Gi")], service: true });
  const volumeMembers = ["a", "b", "c"].map((name) => memberNamed(name, { template: withVolumes }));

  test.for([
    [
      "Pod labels",
      templateOf({
        ...withVolumes.spec,
        podTemplate: { ...withVolumes.spec.podTemplate, metadata: { labels: { a: "b" } } },
      }),
    ],
    [
      "volume labels",
      templateOf({
        ...withVolumes.spec,
        volumeClaimTemplates: [claim("a", "1Gi", { labels: { x: "y" } }), claim("b", "1Gi")],
      }),
    ],
    [
      "the spelling of a quantity",
      templateOf({ ...withVolumes.spec, volumeClaimTemplates: [claim("a", "1024Mi"), claim("b", "1Gi")] }),
    ],
  ] as const)("does not treat a change of %s as stale (POOL-27)", ([, template]) => {
    expect(moves(at({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual([]);
  });

  test.for([
    ["a volume added", [claim("a", "1Gi"), claim("b", "1Gi"), claim("c", "1Gi")], true],
    ["a volume removed", [claim("a", "1Gi")], true],
    ["volumes reordered", [claim("b", "1Gi"), claim("a", "1Gi")], true],
    ["a volume resized", [claim("a", "2Gi"), claim("b", "1Gi")], true],
    ["the Service switched off", withVolumes.spec.volumeClaimTemplates, false],
    ["the Service unset", withVolumes.spec.volumeClaimTemplates, undefined],
  ] as const)("treats members as stale with %s (POOL-28)", ([, volumeClaimTemplates, service]) => {
    const template = templateOf({
      volumeClaimTemplates: [...(volumeClaimTemplates ?? [])],
      ...(service === undefined ? {} : { service }),
    });
    expect(moves(at({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("ignores differences from secure defaults, but not an explicit token (POOL-29)", () => {
    const foreign = members.map((member) => {
      const labels = { ...member.metadata.labels, "agents.x-k8s.io/sandbox-template-hash": "of-another-maker" };
      return { ...member, metadata: { ...member.metadata, labels } };
    });
    expect(moves(at({ pool: recreate, sandboxes: foreign }))).toEqual([]);
    const template = withPod({ automountServiceAccountToken: true });
    expect(moves(at({ pool: recreate, sandboxes: foreign, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("replaces the members of a pool moved to an identical template (POOL-30)", () => {
    const other = templateOf({}, { name: "other" });
    const pool = poolOf({ updateStrategy: { type: "Recreate" }, sandboxTemplateRef: { name: "other" } });
    expect(moves(at({ pool, sandboxes: members, template: other }))).toEqual(["-a", "-b", "-c"]);
    const [made] = at({ pool, template: other }).actions;
    expect(made).toMatchObject({
      member: { metadata: { annotations: { "agents.x-k8s.io/sandbox-template-ref": "other" } } },
    });
  });

  test("replaces the members of one of two pools when only its template changed (POOL-31)", () => {
    const other = poolOf({ updateStrategy: { type: "Recreate" } }, { name: "other", uid: "other-uid" });
    const all = [...members, ...["d", "e", "f"].map((name) => memberNamed(name, { pool: other }))];
    expect(moves(at({ pool: recreate, sandboxes: all, template: changed }))).toEqual(["-a", "-b", "-c"]);
    expect(moves(at({ pool: other, sandboxes: all }))).toEqual([]);
  });

  const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  const created = ({ actions: [made] }: Decision): Sandbox => {
    if (made?.do !== "create") throw new Error("no member is made");
    return made.member;
  };
  test.for([
    ["on, not in the template", true, undefined, "true"],
    ["off, not in the template", false, undefined, undefined],
    ["on, template false", true, "false", undefined],
    ["off, template true", false, "true", undefined],
  ] as const)(
    "sets safe-to-evict on the Sandbox and not in its spec: %s (POOL-32)",
    ([, markEvictable, given, expected]) => {
      const { spec } = templateOf();
      const annotations = given === undefined ? {} : { [evictable]: given };
      const template = templateOf({ podTemplate: { ...spec.podTemplate, metadata: { annotations } } });
      const { metadata, spec: own } = created(at({ template, settings: { markEvictable } }));
      expect([metadata.annotations?.[evictable], own.podTemplate.metadata?.annotations?.[evictable]]).toEqual([
        expected,
        given,
      ]);
    },
  );

  test("gives a member secure defaults, volumes in order and all labels, none of them in its spec (POOL-33)", () => {
    const { hash, podTemplateHash } = blueprintOf(withVolumes);
    const identity = {
      "agents.x-k8s.io/warm-pool-sandbox": "91dd7983",
      "agents.x-k8s.io/sandbox-template-ref-hash": "69155462",
      "agents.x-k8s.io/sandbox-pod-template-hash": podTemplateHash,
      "agents.x-k8s.io/sandbox-template-hash": hash,
    };
    expect(created(at({ template: withVolumes }))).toEqual({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: {
        generateName: "pool-",
        namespace: "default",
        labels: { ...identity, "agents.x-k8s.io/launch-type": "warm", "agents.x-k8s.io/created-by": "controller" },
        annotations: { "agents.x-k8s.io/sandbox-template-ref": "test-template", [evictable]: "true" },
        ownerReferences: [
          {
            apiVersion: "extensions.agents.x-k8s.io/v1beta1",
            kind: "SandboxWarmPool",
            name: "pool",
            uid: "pool-uid",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        podTemplate: {
          spec: {
            containers: [{ name: "c", image: "host" }],
            automountServiceAccountToken: false,
            dnsPolicy: "None",
            dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] },
          },
        },
        volumeClaimTemplates: withVolumes.spec.volumeClaimTemplates,
        service: true,
      },
    });
  });

  test.for(["Recreate", "OnReplenish"] as const)("does not list the members of a settled %s pool (COST-8)", (type) => {
    const pool = poolOf({ replicas: 1_000, updateStrategy: { type } });
    const none = (): never => {
      throw new Error("members were listed");
    };
    const counts = { active: 1_000, ready: 1_000, unready: 0, terminating: 0, madeFrom: () => 1_000 };
    const lists = { listActive: none, listUnready: none, listUnmarked: () => [], listOrphans: () => [] };
    const seen = { ...look({ pool }), members: { ...counts, ...lists } };
    expect(decide(seen, {}, epoch).actions).toEqual([]);
    const starting = { ...counts, ready: 999, unready: 1, ...lists };
    const memory = { checkUnreadyAt: epoch + minute };
    expect(decide({ ...seen, members: starting }, memory, epoch).actions).toEqual([]);
  });

  test("deletes stale members in batches (POOL-51)", () => {
    const settings = { maxBatch: 2 };
    const decision = at({ pool: recreate, sandboxes: members, template: changed, settings });
    expect([moves(decision), decision.requeueAt]).toEqual([["-a", "-b"], epoch]);
  });

  test("deletes stuck members during the replenish delay (POOL-43)", () => {
    const settings = { replenishDelayMs: 10 * minute };
    const decision = at(
      { sandboxes: [unready("a")], settings, memory: { refill: { lastCount: 3 } } },
      epoch + 6 * minute,
    );
    expect(moves(decision)).toEqual(["-a"]);
  });

  test("reports correct counts during the replenish delay (POOL-42)", () => {
    const decision = at({
      sandboxes: [memberNamed("a", { status: readyStatus })],
      settings: { replenishDelayMs: 5_000 },
      memory: { refill: { lastCount: 3 } },
    });
    expect([moves(decision), decision.requeueAt]).toEqual([[], epoch + 5_000]);
    expect(decision.status).toMatchObject({ replicas: 1, readyReplicas: 1 });
  });
});

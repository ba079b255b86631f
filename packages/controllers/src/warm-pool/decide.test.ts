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
  ] as const)("9.8 #99 replicas %s", ([replicas, expected]) => {
    const pool = poolOf(replicas === undefined ? {} : { replicas });
    if (replicas === undefined) delete pool.spec.replicas;
    const decision = at({ pool });
    expect(moves(decision)).toEqual(expected);
    expect(decision.status?.selector).toBe("agents.x-k8s.io/warm-pool-sandbox=91dd7983");
  });

  test("9.8 #100 parts with the one that is not Ready, else with the newest", () => {
    const later = { creationTimestamp: "2026-03-01T10:00:09Z" };
    const some = [memberNamed("a"), memberNamed("b"), memberNamed("c", { metadata: later })];
    expect(moves(at({ sandboxes: [...some, unready("d")] }))).toEqual(["-d"]);
    expect(moves(at({ sandboxes: [...some, memberNamed("d")] }))).toEqual(["-c"]);
  });

  test("9.8 #101 takes in an orphan that is what the template makes, and counts it", () => {
    expect(moves(at({ sandboxes: [orphan("a"), memberNamed("b")] }))).toEqual(["adopt a", "+1"]);
  });

  test("9.8 #101 an orphan for which there is no room goes, so that the pool is never above its target", () => {
    const full = ["a", "b", "c"].map((name) => memberNamed(name));
    expect(moves(at({ sandboxes: [...full, orphan("d")] }))).toEqual(["-d"]);
  });

  test("9.8 #102 deletes an orphan with the right hash and another Pod spec, even under OnReplenish", () => {
    const altered = orphan("a");
    const podTemplate = { ...altered.spec.podTemplate, spec: { containers: [{ name: "c", image: "evil" }] } };
    const forged = { ...altered, spec: { ...altered.spec, podTemplate } };
    expect(moves(at({ sandboxes: [forged] }))).toEqual(["-a", "+3"]);
  });

  test("9.8 #101 leaves orphans alone while there is no template to compare with (10.2.10)", () => {
    expect(moves(at({ sandboxes: [orphan("a")], template: null }))).toEqual([]);
  });

  test("9.8 #103 ignores what another controller owns, also a pool of the same name in another namespace", () => {
    const other = poolOf({}, { uid: "other-uid" });
    const elsewhere = memberNamed("b", { metadata: { namespace: "elsewhere" } });
    expect(moves(at({ sandboxes: [memberNamed("a", { pool: other }), elsewhere] }))).toEqual(["+3"]);
  });

  test.for([
    [condition("Ready", "False", "X")],
    [condition("Ready", "Unknown", "X")],
    [condition("PodScheduled", "True", "X")],
  ])("9.8 #104 does not count as ready: %j", ([given]) => {
    const { status } = at({ sandboxes: [memberNamed("a", { status: { conditions: given ? [given] : [] } })] });
    expect(status).toMatchObject({ replicas: 1, readyReplicas: 0 });
  });

  test("9.8 #105 reports the generation it has seen", () => {
    expect(at({ pool: poolOf({}, { generation: 4 }) }).status?.observedGeneration).toBe(4);
  });

  test("9.8 #106 reports counts that fall to zero as zero", () => {
    const status = { replicas: 2, readyReplicas: 2, observedGeneration: 1 };
    expect(at({ pool: reported(status, { replicas: 0 }) }).status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });

  test("9.8 #107 without a template makes nothing, and says so (10.3.23)", () => {
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

  test("9.8 #108 replaces a member that is not Ready after the grace, but only once it is gone", () => {
    expect(
      moves(at({ sandboxes: [unready("a"), memberNamed("b"), memberNamed("c")] }, epoch + 5 * minute + 1)),
    ).toEqual(["-a"]);
  });

  test("9.8 #108 at the very end of its grace a member is still kept", () => {
    const sandboxes = [unready("a"), memberNamed("b"), memberNamed("c")];
    expect(moves(at({ sandboxes }, epoch + 5 * minute))).toEqual([]);
  });

  test("9.8 #100 what goes because it is stuck is not taken off the pool a second time", () => {
    const sandboxes = [unready("a"), ...["b", "c", "d"].map((name) => memberNamed(name))];
    expect(moves(at({ sandboxes }, epoch + 6 * minute))).toEqual(["-a"]);
  });

  test("9.8 #108 gives the whole grace to one that stumbles after a long time (10.2.4)", () => {
    const stumbled = condition("Ready", "False", "DependenciesNotReady", {
      lastTransitionTime: "2026-03-01T11:00:00Z",
    });
    const members = [memberNamed("a", { status: { conditions: [stumbled] } }), memberNamed("b"), memberNamed("c")];
    const anHour = epoch + 60 * minute;
    expect(moves(at({ sandboxes: members }, anHour + minute))).toEqual([]);
    expect(moves(at({ sandboxes: members }, anHour + 5 * minute + 1))).toEqual(["-a"]);
  });

  test("9.8 #109 looks again when the grace of the earliest is over, and never for a pool that is Ready", () => {
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

  test("9.8 #110 keeps a member that no node has room for, says so once, and once when it is over", () => {
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

  test("9.8 #111 goes by the times it is given", () => {
    const settings = { readinessGraceMs: 10 * minute, recheckMs: 30_000 };
    const sandboxes = [unready("a", { status: unschedulable }), memberNamed("b"), memberNamed("c")];
    expect(at({ sandboxes, settings }, epoch + 6 * minute).memory.checkUnreadyAt).toBe(epoch + 10 * minute + 2_000);
    expect(at({ sandboxes, settings }, epoch + 11 * minute).requeueAt).toBe(epoch + 11 * minute + 30_000);
  });

  test("9.8 #112 counts a terminating member until it is gone, but does not report it", () => {
    const pool = poolOf({ replicas: 2 });
    const sandboxes = [memberNamed("a"), memberNamed("b", { metadata: { deletionTimestamp: created } })];
    const decision = at({ pool, sandboxes });
    expect(moves(decision)).toEqual([]);
    expect(decision.status).toMatchObject({ replicas: 1 });
  });

  test("9.8 #117 forgets a pool that is being deleted and leaves its members to garbage collection", () => {
    const pool = poolOf({}, { deletionTimestamp: created });
    expect(at({ pool, sandboxes: [memberNamed("a")], memory: { refill: { lastCount: 1 } } })).toEqual({
      actions: [],
      events: [],
      memory: {},
    });
  });

  test("marks a member that lacks its launch type, and counts it all the same (10.2.3)", () => {
    const bare = memberNamed("a");
    const { "agents.x-k8s.io/launch-type": _, ...labels } = bare.metadata.labels ?? {};
    const sandboxes = [{ ...bare, metadata: { ...bare.metadata, labels } }, memberNamed("b"), memberNamed("c")];
    expect(moves(at({ sandboxes }))).toEqual(["mark a"]);
  });

  test("says what failed, and keeps counting (10.3.23)", () => {
    const decision = at({ failure: "quota exceeded", sandboxes: [memberNamed("a")] });
    expect(decision.status).toMatchObject({ replicas: 1, readyReplicas: 1 });
    expect(readyOf(decision)).toMatchObject({ reason: "ReconcilerError", message: "Error seen: quota exceeded" });
  });
});

describe("decide(): when the status is written", () => {
  const full = ["a", "b", "c"].map((name) => memberNamed(name));
  const settledStatus = at({ sandboxes: full }).status;
  const settled = reported(settledStatus);

  test("not at all when nothing changed", () => {
    const decision = at({ pool: settled, sandboxes: full });
    expect([decision.status, decision.requeueAt]).toEqual([undefined, undefined]);
  });

  test("a little later when a member was taken, and not at all when it is replaced in time", () => {
    const taken = at({ pool: settled, sandboxes: full.slice(1) });
    expect([moves(taken), taken.status, taken.requeueAt]).toEqual([["+1"], undefined, epoch + 5_000]);
    const late = at({ pool: settled, sandboxes: full.slice(1), memory: taken.memory }, epoch + 5_000);
    expect(late.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
    const replaced = at({ pool: settled, sandboxes: full, memory: taken.memory }, epoch + 1_000);
    expect([replaced.status, replaced.memory.unreportedSince]).toEqual([undefined, undefined]);
  });

  test("at once when the pool is full, has a new generation, or has lost its template", () => {
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
    ["network rules, which decide about DNS", templateOf({ networkPolicy: {} })],
  ] as const)("9.9 #118 Recreate deletes all at a change of %s, then makes new ones", ([, template]) => {
    expect(moves(at({ pool: recreate, sandboxes: members, template }))).toEqual(["-a", "-b", "-c"]);
    const [made] = at({ pool: recreate, template }).actions;
    expect(made?.do === "create" && made.member.metadata.labels?.["agents.x-k8s.io/sandbox-template-hash"]).toBe(
      blueprintOf(template).hash,
    );
  });

  test.for([
    ["explicit", { updateStrategy: { type: "OnReplenish" } } as const],
    ["absent", {}],
    ["empty", { updateStrategy: {} }],
  ] as const)("9.9 #119 OnReplenish (%s) keeps old members and makes new ones from the new template", ([, spec]) => {
    const pool = poolOf(spec);
    expect(moves(at({ pool, sandboxes: members, template: changed }))).toEqual([]);
    const [made] = at({ pool, sandboxes: members.slice(1), template: changed }).actions;
    expect(made).toMatchObject({
      do: "create",
      count: 1,
      member: { spec: { podTemplate: { spec: { containers: [{ image: "newer" }] } } } },
    });
  });

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
      "the same quantity in other words",
      templateOf({ ...withVolumes.spec, volumeClaimTemplates: [claim("a", "1024Mi"), claim("b", "1Gi")] }),
    ],
  ] as const)("9.9 #120 a change of %s makes no member stale", ([, template]) => {
    expect(moves(at({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual([]);
  });

  test.for([
    ["a volume added", [claim("a", "1Gi"), claim("b", "1Gi"), claim("c", "1Gi")], true],
    ["a volume removed", [claim("a", "1Gi")], true],
    ["volumes reordered", [claim("b", "1Gi"), claim("a", "1Gi")], true],
    ["a volume resized", [claim("a", "2Gi"), claim("b", "1Gi")], true],
    ["the Service switched off", withVolumes.spec.volumeClaimTemplates, false],
    ["the Service left open", withVolumes.spec.volumeClaimTemplates, undefined],
  ] as const)("9.9 #121 %s makes members stale", ([, volumeClaimTemplates, service]) => {
    const template = templateOf({
      volumeClaimTemplates: [...(volumeClaimTemplates ?? [])],
      ...(service === undefined ? {} : { service }),
    });
    expect(moves(at({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("9.9 #122 what secure defaults add is no difference; a token asked for is", () => {
    const foreign = members.map((member) => {
      const labels = { ...member.metadata.labels, "agents.x-k8s.io/sandbox-template-hash": "of-another-maker" };
      return { ...member, metadata: { ...member.metadata, labels } };
    });
    expect(moves(at({ pool: recreate, sandboxes: foreign }))).toEqual([]);
    const template = withPod({ automountServiceAccountToken: true });
    expect(moves(at({ pool: recreate, sandboxes: foreign, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("9.9 #123 a pool re-pointed to an identical template rolls, and says which template it uses", () => {
    const other = templateOf({}, { name: "other" });
    const pool = poolOf({ updateStrategy: { type: "Recreate" }, sandboxTemplateRef: { name: "other" } });
    expect(moves(at({ pool, sandboxes: members, template: other }))).toEqual(["-a", "-b", "-c"]);
    const [made] = at({ pool, template: other }).actions;
    expect(made).toMatchObject({
      member: { metadata: { annotations: { "agents.x-k8s.io/sandbox-template-ref": "other" } } },
    });
  });

  test("9.9 #124 of two pools only the one whose template changed rolls", () => {
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
    ["on, template silent", true, undefined, "true"],
    ["off, template silent", false, undefined, undefined],
    ["on, template false", true, "false", undefined],
    ["off, template true", false, "true", undefined],
  ] as const)(
    "9.9 #125 eviction %s: on the Sandbox, and not in its spec (10.4.29)",
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

  test("9.9 #126 a member has secure defaults, volumes in order, and all its labels, its spec none of them (10.4.29)", () => {
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

  test.for(["Recreate", "OnReplenish"] as const)(
    "looks at no single member of a %s pool that is as it should be (10.4.35)",
    (type) => {
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
    },
  );

  test("deletes in batches when there is much to roll", () => {
    const settings = { maxBatch: 2 };
    const decision = at({ pool: recreate, sandboxes: members, template: changed, settings });
    expect([moves(decision), decision.requeueAt]).toEqual([["-a", "-b"], epoch]);
  });

  test("9.10 #135 collects what is stuck also while a refill is on hold", () => {
    const settings = { replenishDelayMs: 10 * minute };
    const decision = at(
      { sandboxes: [unready("a")], settings, memory: { refill: { lastCount: 3 } } },
      epoch + 6 * minute,
    );
    expect(moves(decision)).toEqual(["-a"]);
  });

  test("9.10 #134 reports the truth while a refill is on hold", () => {
    const decision = at({
      sandboxes: [memberNamed("a", { status: readyStatus })],
      settings: { replenishDelayMs: 5_000 },
      memory: { refill: { lastCount: 3 } },
    });
    expect([moves(decision), decision.requeueAt]).toEqual([[], epoch + 5_000]);
    expect(decision.status).toMatchObject({ replicas: 1, readyReplicas: 1 });
  });
});

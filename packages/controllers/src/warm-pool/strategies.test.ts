import type { Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { epoch, memberNamed, poolOf, readyStatus, templateOf } from "../extensions.test.support.ts";
import { blueprintOf } from "../template/blueprint.ts";
import { type Decision, decide } from "./decide.ts";
import { judge, look, moves, unready } from "./pool.test.support.ts";

const minute = 60_000;

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
      expect(moves(judge({ pool: recreate, sandboxes: members, template }))).toEqual(["-a", "-b", "-c"]);
      const [made] = judge({ pool: recreate, template }).actions;
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
      expect(moves(judge({ pool, sandboxes: members, template: changed }))).toEqual([]);
      const [made] = judge({ pool, sandboxes: members.slice(1), template: changed }).actions;
      expect(made).toMatchObject({
        do: "create",
        count: 1,
        member: { spec: { podTemplate: { spec: { containers: [{ image: "newer" }] } } } },
      });
    },
  );

  test("counts the members that were created from an older template, while there are any (POOL-55)", () => {
    const fresh = memberNamed("d", { template: changed });
    const count = (pool: typeof recreate, sandboxes: readonly Sandbox[], template = changed) =>
      judge({ pool, sandboxes, template }).status?.outdatedReplicas;
    const keeping = poolOf({ replicas: 4 });
    expect(count(keeping, [...members, fresh])).toBe(3);
    expect(count(keeping, [fresh])).toBeUndefined();
    expect(count(poolOf({ replicas: 3 }), members, templateOf())).toBeUndefined();
    // During a rollout, members that are terminating do not count any more.
    const ending = members.map((member) => ({
      ...member,
      metadata: { ...member.metadata, deletionTimestamp: "2026-03-01T10:00:00Z" },
    }));
    expect(count(recreate, members)).toBe(3);
    expect(count(recreate, [...ending.slice(0, 2), ...members.slice(2), fresh])).toBe(1);
    expect(count(recreate, [...ending, fresh])).toBeUndefined();
  });

  test("does not count members that differ in metadata or spelling only (POOL-55)", () => {
    const podTemplate = { ...templateOf().spec.podTemplate, metadata: { labels: { a: "b" } } };
    expect(
      judge({ sandboxes: members, template: templateOf({ podTemplate }) }).status?.outdatedReplicas,
    ).toBeUndefined();
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
      "the spelling of a quantity",
      templateOf({ ...withVolumes.spec, volumeClaimTemplates: [claim("a", "1024Mi"), claim("b", "1Gi")] }),
    ],
  ] as const)("does not treat a change of %s as stale (POOL-27)", ([, template]) => {
    expect(moves(judge({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual([]);
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
    expect(moves(judge({ pool: recreate, sandboxes: volumeMembers, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("makes forks of the template's snapshot, and replaces them when it names another (STATE-27)", () => {
    const fork = (name: string) => templateOf({ restoreFrom: { snapshotRef: { name } } });
    const forks = ["a", "b", "c"].map((name) => memberNamed(name, { template: fork("golden"), pool: recreate }));
    expect(forks[0]?.spec.restoreFrom).toEqual({ snapshotRef: { name: "golden" } });
    expect(moves(judge({ pool: recreate, sandboxes: forks, template: fork("golden") }))).toEqual([]);
    expect(moves(judge({ pool: recreate, sandboxes: forks, template: fork("newer") }))).toEqual(["-a", "-b", "-c"]);
  });

  test("ignores differences from secure defaults, but not an explicit token (POOL-29)", () => {
    const foreign = members.map((member) => {
      const labels = { ...member.metadata.labels, "agents.x-k8s.io/sandbox-template-hash": "of-another-maker" };
      return { ...member, metadata: { ...member.metadata, labels } };
    });
    expect(moves(judge({ pool: recreate, sandboxes: foreign }))).toEqual([]);
    const template = withPod({ automountServiceAccountToken: true });
    expect(moves(judge({ pool: recreate, sandboxes: foreign, template }))).toEqual(["-a", "-b", "-c"]);
  });

  test("replaces the members of a pool moved to an identical template (POOL-30)", () => {
    const other = templateOf({}, { name: "other" });
    const pool = poolOf({ updateStrategy: { type: "Recreate" }, sandboxTemplateRef: { name: "other" } });
    expect(moves(judge({ pool, sandboxes: members, template: other }))).toEqual(["-a", "-b", "-c"]);
    const [made] = judge({ pool, template: other }).actions;
    expect(made).toMatchObject({
      member: { metadata: { annotations: { "agents.x-k8s.io/sandbox-template-ref": "other" } } },
    });
  });

  test("replaces the members of one of two pools when only its template changed (POOL-31)", () => {
    const other = poolOf({ updateStrategy: { type: "Recreate" } }, { name: "other", uid: "other-uid" });
    const all = [...members, ...["d", "e", "f"].map((name) => memberNamed(name, { pool: other }))];
    expect(moves(judge({ pool: recreate, sandboxes: all, template: changed }))).toEqual(["-a", "-b", "-c"]);
    expect(moves(judge({ pool: other, sandboxes: all }))).toEqual([]);
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
      const { metadata, spec: own } = created(judge({ template, settings: { markEvictable } }));
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
    expect(created(judge({ template: withVolumes }))).toEqual({
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
    const nothing = { listUnmarked: () => [], listOrphans: () => [], trouble: () => undefined };
    const lists = { listActive: none, listUnready: none, ...nothing };
    const seen = { ...look({ pool }), members: { ...counts, ...lists } };
    expect(decide(seen, {}, epoch).actions).toEqual([]);
    const starting = { ...counts, ready: 999, unready: 1, ...lists };
    const memory = { checkUnreadyAt: epoch + minute };
    expect(decide({ ...seen, members: starting }, memory, epoch).actions).toEqual([]);
  });

  test("deletes stale members in batches (POOL-51)", () => {
    const settings = { maxBatch: 2 };
    const decision = judge({ pool: recreate, sandboxes: members, template: changed, settings });
    expect([moves(decision), decision.requeueAt]).toEqual([["-a", "-b"], epoch]);
  });

  test("deletes stuck members during the replenish delay (POOL-43)", () => {
    const settings = { replenishDelayMs: 10 * minute };
    const decision = judge(
      { sandboxes: [unready("a")], settings, memory: { refill: { lastCount: 3 } } },
      epoch + 6 * minute,
    );
    expect(moves(decision)).toEqual(["-a"]);
  });

  test("reports correct counts during the replenish delay (POOL-42)", () => {
    const decision = judge({
      sandboxes: [memberNamed("a", { status: readyStatus })],
      settings: { replenishDelayMs: 5_000 },
      memory: { refill: { lastCount: 3 } },
    });
    expect([moves(decision), decision.requeueAt]).toEqual([[], epoch + 5_000]);
    expect(decision.status).toMatchObject({ replicas: 1, readyReplicas: 1 });
  });
});

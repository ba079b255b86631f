import { type Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import {
  boundTo,
  claimOf,
  condition,
  created,
  epoch,
  memberNamed,
  poolOf,
  readyStatus,
  startingStatus,
  templateOf,
} from "../extensions.test.support.ts";
import { actionsOf, besidesRecord, freshMemory, judge, look, placeOf, readyOf } from "./claim.test.support.ts";
import { decide } from "./decide.ts";
import { Reservations } from "./reservations.ts";

const claim = claimOf();
const missingPool = { status: "False", reason: "WarmPoolNotFound", message: 'SandboxWarmPool "pool" not found' };
const missingTemplate = {
  status: "False",
  reason: "TemplateNotFound",
  message: 'SandboxTemplate "test-template" not found',
};
const owner = (over: object) => ({ apiVersion: "v1", kind: "X", name: "x", uid: "x", controller: true, ...over });
const ownedBy = (name: string, over: object): Sandbox =>
  memberNamed(name, { metadata: { ownerReferences: [owner(over)] } });
const addressed = (name: string, over = {}) =>
  memberNamed(name, { status: { ...startingStatus, podIPs: ["10.0.0.9"], ...over } });
const onNode = (name: string, nodeName: string) => memberNamed(name, { status: { ...readyStatus, nodeName } });
const pending = (name: string, over = {}) => memberNamed(name, { status: { ...startingStatus, ...over } });

describe("claims and pool members", () => {
  test("creates a Sandbox with the claim's name when the pool has no member (CLAIM-1)", () => {
    const decision = judge();
    expect(actionsOf(decision)).toEqual(["create my-claim"]);
    expect(decision.actions).toMatchObject([
      {
        sandbox: {
          metadata: {
            name: "my-claim",
            namespace: "default",
            labels: {
              "agents.x-k8s.io/launch-type": "cold",
              "agents.x-k8s.io/claim-uid": "claim-uid",
              "agents.x-k8s.io/sandbox-template-ref-hash": "69155462",
            },
            annotations: { "agents.x-k8s.io/sandbox-template-ref": "test-template" },
            ownerReferences: [{ kind: "SandboxClaim", uid: "claim-uid", controller: true, blockOwnerDeletion: true }],
          },
          spec: { podTemplate: { spec: { automountServiceAccountToken: false, dnsPolicy: "None" } } },
        },
      },
    ]);
    const bound = judge({ sandboxes: [boundTo(claim, { status: {} })] });
    expect(readyOf(bound)).toEqual({ status: "False", reason: "SandboxNotReady", message: "Sandbox is not ready" });
  });

  test("reports a missing pool or template, creates nothing and sets no timer (CLAIM-2)", () => {
    const scenes = [judge({ pools: [] }), judge({ templates: [] })];
    expect(scenes.map(readyOf)).toEqual([missingPool, missingTemplate]);
    expect(scenes.map(({ actions, requeueAt }) => [actions, requeueAt])).toEqual(scenes.map(() => [[], undefined]));
  });

  test("reports a Sandbox with the claim's name that it does not control, and takes no member (CLAIM-3)", () => {
    const stranger = boundTo(claimOf({}, { uid: "other" }), { name: "my-claim" });
    const decision = judge({ sandboxes: [stranger, memberNamed("a")] });
    expect(decision.actions).toEqual([]);
    expect(readyOf(decision)).toMatchObject({ status: "False", reason: "ReconcilerError" });
    expect(readyOf(decision)?.message).toMatch(/^Error seen: Cannot make Sandbox "my-claim".*another name$/);
  });

  test("binds a Sandbox that the claim controls and adds missing labels (CLAIM-4)", () => {
    const bound = boundTo(claim);
    const { labels: _, ...metadata } = bound.metadata;
    const decision = judge({ sandboxes: [{ ...bound, metadata }] });
    expect(decision.actions).toMatchObject([
      {
        do: "change-sandbox",
        change: {
          metadata: {
            labels: {
              "agents.x-k8s.io/launch-type": "cold",
              "agents.x-k8s.io/sandbox-template-ref-hash": "69155462",
              "agents.x-k8s.io/claim-uid": "claim-uid",
            },
          },
        },
      },
    ]);
    expect(besidesRecord(judge({ sandboxes: [bound] }))).toEqual([]);
  });

  test.for([
    ["template deleted", { templates: [] }],
    ["pool deleted", { pools: [] }],
    ["both deleted", { templates: [], pools: [] }],
  ] as const)("keeps a bound claim Ready: %s (CLAIM-5)", ([, gone]) => {
    const decision = judge({ sandboxes: [boundTo(claim)], ...gone });
    expect([besidesRecord(decision), readyOf(decision)?.status]).toEqual([[], "True"]);
    expect(decision.status?.sandbox).toEqual({ name: "my-claim", podIPs: ["10.0.0.2"] });
  });

  test("keeps a bound claim with additional metadata Ready without pool and template (CLAIM-5)", () => {
    const special = claimOf({ additionalPodMetadata: { labels: { "sandbox.users.io/a": "b" } } });
    const sandboxes = [boundTo(special, { podMetadata: { labels: { "sandbox.users.io/a": "b" } } })];
    expect(readyOf(judge({ claim: special, sandboxes, templates: [], pools: [] }))?.status).toBe("True");
  });

  test.for([
    ["a younger member that is Ready", [addressed("old"), memberNamed("young")], "young"],
    ["the first member with an address when none is Ready", [addressed("old"), addressed("young")], "old"],
  ] as const)("takes %s (CLAIM-7)", ([, sandboxes, expected]) => {
    expect(actionsOf(judge({ sandboxes }))).toEqual([`adopt ${expected}`]);
  });

  test("takes the oldest member of the node with the most members (CLAIM-8)", () => {
    const sandboxes = [onNode("a", "node-1"), onNode("b", "node-2"), onNode("c", "node-2")];
    expect(actionsOf(judge({ sandboxes }))).toEqual(["adopt b"]);
  });

  test("waits two seconds for members without an address and writes no status (CLAIM-9)", () => {
    const decision = judge({ sandboxes: [pending("a", { nodeName: "node-7" })] });
    expect(decision).toEqual({ actions: [], events: [], requeueAt: epoch + 2_000 });
  });

  test("lets no more claims wait than members are starting (CLAIM-10)", () => {
    const place = placeOf({ sandboxes: [pending("a")] });
    const [first, second] = ["one", "two"].map((name) => {
      const each = claimOf({}, { name, uid: name });
      return actionsOf(judge({ claim: each }, place));
    });
    expect([first, second]).toEqual([[], ["create two"]]);
  });

  test("creates a Sandbox at once when the pool has no member (CLAIM-12)", () => {
    const decision = judge();
    expect([actionsOf(decision), decision.requeueAt]).toEqual([["create my-claim"], undefined]);
  });

  test.for([
    ["being deleted", memberNamed("a", { metadata: { deletionTimestamp: created } })],
    ["owned by another claim", boundTo(claimOf({}, { uid: "other" }), { name: "a" })],
    ["without controller but with forged labels", memberNamed("a", { metadata: { ownerReferences: [] } })],
    [
      "owned by a SandboxWarmPool of another API group",
      ownedBy("a", { apiVersion: "apps/v1", kind: "SandboxWarmPool", uid: "pool-uid" }),
    ],
    [
      "finished, though it still has an address",
      memberNamed("a", { status: { ...readyStatus, conditions: [condition("Finished", "True", "PodFailed")] } }),
    ],
    ["a member of a deleted pool with the same name", memberNamed("a", { pool: poolOf({}, { uid: "old-uid" }) })],
  ] as const)("never takes a Sandbox that is %s (CLAIM-13)", ([, sandbox]) => {
    expect(actionsOf(judge({ sandboxes: [sandbox] }))).toEqual(["create my-claim"]);
  });

  test("takes a member whose owner reference has an older API version (CLAIM-14)", () => {
    const apiVersion = "extensions.agents.x-k8s.io/v1alpha1";
    const sandbox = ownedBy("a", { apiVersion, kind: "SandboxWarmPool", name: "pool", uid: "pool-uid" });
    expect(actionsOf(judge({ sandboxes: [sandbox] }))).toEqual(["adopt a"]);
  });

  test("never takes a Sandbox of another namespace (CLAIM-15)", () => {
    const reservations = new Reservations(() => undefined);
    const elsewhere = memberNamed("a", { metadata: { namespace: "elsewhere" } });
    const place = placeOf({ sandboxes: [elsewhere] }, reservations);
    expect(actionsOf(judge({}, place))).toEqual(["create my-claim"]);
    expect(reservations.count("elsewhere/pool-uid")).toBe(1);
  });

  const recreate = poolOf({ updateStrategy: { type: "Recreate" } });
  const newer = templateOf({ podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } });
  const hashless = (() => {
    const member = memberNamed("a");
    const { "agents.x-k8s.io/sandbox-template-hash": _, ...labels } = member.metadata.labels ?? {};
    return { ...member, metadata: { ...member.metadata, labels } };
  })();
  test.for([
    ["does not take a stale member", memberNamed("a"), [newer], ["create my-claim"]],
    ["takes a current member", memberNamed("a", { template: newer }), [newer], ["adopt a"]],
    ["takes a member without hash that matches", hashless, [templateOf()], ["adopt a"]],
    ["takes none while the template is missing", memberNamed("a"), [], []],
  ] as const)("with Recreate %s (CLAIM-17)", ([, sandbox, templates, expected]) => {
    expect(actionsOf(judge({ pools: [recreate], templates, sandboxes: [sandbox] }))).toEqual(expected);
  });

  test.for([[poolOf({ updateStrategy: { type: "OnReplenish" } })], [poolOf()]])(
    "takes stale members with OnReplenish (CLAIM-18)",
    ([pool]) => {
      expect(actionsOf(judge({ pools: [pool as never], templates: [newer], sandboxes: [memberNamed("a")] }))).toEqual([
        "adopt a",
      ]);
    },
  );

  test.for([
    [{ env: [{ name: "A", value: "1" }] }, { envVarsInjectionPolicy: "Allowed" }],
    [{ volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] }, { volumeClaimTemplatesPolicy: "Allowed" }],
  ] as const)("ignores the pool for a claim with %j (CLAIM-19)", ([spec, policy]) => {
    const scene = { claim: claimOf(spec as never), templates: [templateOf(policy)], sandboxes: [memberNamed("a")] };
    expect(actionsOf(judge(scene))).toEqual(["create my-claim"]);
  });

  test("serves two of three claims from two members and creates a Sandbox for the third (CLAIM-20)", () => {
    const place = placeOf({ sandboxes: [memberNamed("a"), memberNamed("b")] });
    const all = ["one", "two", "three"].flatMap((name) => {
      const each = claimOf({}, { name, uid: name });
      return actionsOf(judge({ claim: each }, place));
    });
    expect(all).toEqual(["adopt a", "adopt b", "create three"]);
  });

  test("takes no member for a bound claim, and adds a missing launch type (CLAIM-21)", () => {
    const bound = boundTo(claim, { name: "pool-abc" });
    const { "agents.x-k8s.io/launch-type": _, ...labels } = bound.metadata.labels ?? {};
    const sandboxes = [{ ...bound, metadata: { ...bound.metadata, labels } }, memberNamed("a")];
    expect(judge({ sandboxes }).actions).toMatchObject([
      { do: "change-sandbox", change: { metadata: { labels: { "agents.x-k8s.io/launch-type": "warm" } } } },
    ]);
  });

  test("binds again when the Sandbox in the status is gone (CLAIM-22)", () => {
    const lost = claimOf({}, {}, { sandbox: { name: "gone" } });
    expect(actionsOf(judge({ claim: lost, sandboxes: [memberNamed("a")] }))).toEqual(["adopt a"]);
  });

  test("takes no member of a deleted pool (CLAIM-27)", () => {
    expect(readyOf(judge({ pools: [], sandboxes: [memberNamed("a")] }))).toEqual(missingPool);
  });

  test("keeps the Sandbox in the status while an error lasts (CLAIM-42)", () => {
    const bound = claimOf({}, {}, { sandbox: { name: "pool-abc", podIPs: ["10.0.0.2"] } });
    const failure = { reason: "ReconcilerError", message: "Error seen: try again" } as const;
    const { status } = decide({ ...look({ claim: bound, pools: [] }), failure }, freshMemory, epoch);
    expect(status).toMatchObject({
      sandbox: { name: "pool-abc", podIPs: ["10.0.0.2"] },
      conditions: [{ type: "Ready", status: "False", ...failure }],
    });
  });

  test("does not repair a Sandbox that is being deleted (EXPIRE-14)", () => {
    const bound = boundTo(claim);
    const { labels: _, ...metadata } = bound.metadata;
    const going = { ...bound, metadata: { ...metadata, deletionTimestamp: created } };
    expect(besidesRecord(judge({ sandboxes: [going] }))).toEqual([]);
  });

  test("keeps the Sandbox in the status and deletes a second one (CLAIM-49)", () => {
    const sandboxes = [boundTo(claim, { name: "a" }), boundTo(claim, { name: "b" })];
    const decision = judge({ claim: claimOf({}, {}, { sandbox: { name: "b" } }), sandboxes });
    expect([actionsOf(decision), decision.status?.sandbox?.name]).toEqual([["delete-sandbox a"], "b"]);
  });

  test("keeps the template of a bound claim that is pointed to another pool (CLAIM-50)", () => {
    const other = poolOf({ sandboxTemplateRef: { name: "other" } }, { name: "other", uid: "other-uid" });
    const scene = { pools: [poolOf(), other], templates: [templateOf(), templateOf({}, { name: "other" })] };
    const moved = claimOf({ warmPoolRef: { name: "other" } });
    expect(besidesRecord(judge({ ...scene, claim: moved, sandboxes: [boundTo(moved)] }))).toEqual([]);
  });

  test("sorts conditions by type", () => {
    const conditions = [condition("Ready", "False", "PodSucceeded"), condition("Finished", "True", "PodSucceeded")];
    const { status } = judge({ sandboxes: [boundTo(claim, { status: { conditions } })] });
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["Finished", "Ready"]);
  });
});

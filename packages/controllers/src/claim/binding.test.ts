import { applyMergePatch, type Sandbox, type SandboxClaim } from "@agent-sandbox/api";
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
import { deeds, freshMemory, judge, look, placeOf, readyOf, reserve, type Scene } from "./claim.test.support.ts";
import { decide } from "./decide.ts";
import { Reservations } from "./reservations.ts";
import { changesClaimed } from "./triggers.ts";

const claim = claimOf();
const missingPool = { status: "False", reason: "WarmPoolNotFound", message: 'SandboxWarmPool "pool" not found' };
const missingTemplate = {
  status: "False",
  reason: "TemplateNotFound",
  message: 'SandboxTemplate "test-template" not found',
};
const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const owner = (over: object) => ({ apiVersion: "v1", kind: "X", name: "x", uid: "x", controller: true, ...over });
const ownedBy = (name: string, over: object): Sandbox =>
  memberNamed(name, { metadata: { ownerReferences: [owner(over)] } });
const addressed = (name: string, over = {}) =>
  memberNamed(name, { status: { ...startingStatus, podIPs: ["10.0.0.9"], ...over } });
const onNode = (name: string, nodeName: string) => memberNamed(name, { status: { ...readyStatus, nodeName } });
const pending = (name: string, over = {}) => memberNamed(name, { status: { ...startingStatus, ...over } });

/** The Sandbox as the adoption leaves it. */
function adopted(scene: Scene): Sandbox {
  const action = judge(scene).actions.find((each) => each.do === "adopt");
  if (action?.do !== "adopt") throw new Error("nothing was adopted");
  return applyMergePatch(action.member, action.change) as Sandbox;
}

describe("claims and pool members", () => {
  test("creates a Sandbox with the claim's name when the pool has no member (CLAIM-1)", () => {
    const decision = judge();
    expect(deeds(decision)).toEqual(["create my-claim"]);
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
    expect(judge({ sandboxes: [bound] }).actions).toEqual([]);
  });

  test.for([
    ["template deleted", { templates: [] }],
    ["pool deleted", { pools: [] }],
    ["both deleted", { templates: [], pools: [] }],
  ] as const)("keeps a bound claim Ready: %s (CLAIM-5)", ([, gone]) => {
    const decision = judge({ sandboxes: [boundTo(claim)], ...gone });
    expect([deeds(decision), readyOf(decision)?.status]).toEqual([[], "True"]);
    expect(decision.status?.sandbox).toEqual({ name: "my-claim", podIPs: ["10.0.0.2"] });
  });

  test("keeps a bound claim with additional metadata Ready without pool and template (CLAIM-5)", () => {
    const special = claimOf({ additionalPodMetadata: { labels: { "sandbox.users.io/a": "b" } } });
    const sandboxes = [boundTo(special, { podMetadata: { labels: { "sandbox.users.io/a": "b" } } })];
    expect(readyOf(judge({ claim: special, sandboxes, templates: [], pools: [] }))?.status).toBe("True");
  });

  test("takes the oldest of three Ready members and leaves two (CLAIM-6)", () => {
    const reservations = new Reservations(() => undefined);
    const sandboxes = ["a", "b", "c"].map((name) => memberNamed(name));
    const place = placeOf({ sandboxes }, reservations);
    expect([deeds(judge({}, place)), reservations.count("default/pool-uid")]).toEqual([["adopt a"], 2]);
  });

  test("counts the members that can be claimed at once (COST-13)", () => {
    const reservations = new Reservations(() => undefined);
    const members = [memberNamed("a"), memberNamed("b"), addressed("c"), pending("d")];
    const counts = [reservations.stock];
    const tell = (name: string, old: Sandbox, now: Sandbox | undefined): void => {
      reservations.follow({ deltas: [{ key: `default/${name}`, old, new: now }], initial: false, wentBack: false });
      counts.push(reservations.stock);
    };
    const place = placeOf({ sandboxes: members }, reservations);
    counts.push(reservations.stock);
    look({}, place);
    counts.push(reservations.stock);
    tell("a", memberNamed("a"), boundTo(claim));
    tell("c", addressed("c"), memberNamed("c"));
    for (const name of ["b", "c"]) tell(name, memberNamed(name), undefined);
    expect(counts).toEqual([0, 2, 2, 1, 2, 1, 0]);
  });

  test.for([
    ["a younger member that is Ready", [addressed("old"), memberNamed("young")], "young"],
    ["the first member with an address when none is Ready", [addressed("old"), addressed("young")], "old"],
  ] as const)("takes %s (CLAIM-7)", ([, sandboxes, expected]) => {
    expect(deeds(judge({ sandboxes }))).toEqual([`adopt ${expected}`]);
  });

  test("takes the oldest member of the node with the most members (CLAIM-8)", () => {
    const sandboxes = [onNode("a", "node-1"), onNode("b", "node-2"), onNode("c", "node-2")];
    expect(deeds(judge({ sandboxes }))).toEqual(["adopt b"]);
  });

  test("waits two seconds for members without an address and writes no status (CLAIM-9)", () => {
    const decision = judge({ sandboxes: [pending("a", { nodeName: "node-7" })] });
    expect(decision).toEqual({ actions: [], events: [], requeueAt: epoch + 2_000 });
  });

  test("lets no more claims wait than members are starting (CLAIM-10)", () => {
    const place = placeOf({ sandboxes: [pending("a")] });
    const [first, second] = ["one", "two"].map((name) => {
      const each = claimOf({}, { name, uid: name });
      return deeds(judge({ claim: each }, place));
    });
    expect([first, second]).toEqual([[], ["create two"]]);
  });

  test("takes a member as soon as it gets an address, and else creates a Sandbox (CLAIM-11)", () => {
    const woken: string[] = [];
    const reservations = new Reservations((key) => woken.push(key));
    const place = placeOf({ sandboxes: [pending("a")] }, reservations);
    look({}, place);
    const delta = { key: "default/a", old: pending("a"), new: addressed("a") };
    reservations.follow({ deltas: [delta], initial: false, wentBack: false });
    expect(woken).toEqual(["default/my-claim"]);
    expect(deeds(judge({ now: epoch + 100 }, place))).toEqual(["adopt a"]);
    expect(deeds(judge({ sandboxes: [pending("a")], now: epoch + 2_000 }))).toEqual(["create my-claim"]);
  });

  test("creates a Sandbox at once when the pool has no member (CLAIM-12)", () => {
    const decision = judge();
    expect([deeds(decision), decision.requeueAt]).toEqual([["create my-claim"], undefined]);
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
    expect(deeds(judge({ sandboxes: [sandbox] }))).toEqual(["create my-claim"]);
  });

  test("takes a member whose owner reference has an older API version (CLAIM-14)", () => {
    const apiVersion = "extensions.agents.x-k8s.io/v1alpha1";
    const sandbox = ownedBy("a", { apiVersion, kind: "SandboxWarmPool", name: "pool", uid: "pool-uid" });
    expect(deeds(judge({ sandboxes: [sandbox] }))).toEqual(["adopt a"]);
  });

  test("never takes a Sandbox of another namespace (CLAIM-15)", () => {
    const reservations = new Reservations(() => undefined);
    const elsewhere = memberNamed("a", { metadata: { namespace: "elsewhere" } });
    const place = placeOf({ sandboxes: [elsewhere] }, reservations);
    expect(deeds(judge({}, place))).toEqual(["create my-claim"]);
    expect(reservations.count("elsewhere/pool-uid")).toBe(1);
  });

  const noted = (name: string, over: Partial<SandboxClaim["metadata"]> = {}) =>
    claimOf({}, { annotations: { "agents.x-k8s.io/sandbox-name": name }, ...over });

  test("removes a reference to a member of another pool (CLAIM-16)", () => {
    const other = poolOf({}, { name: "other", uid: "other-uid" });
    const decision = judge({
      claim: noted("a"),
      sandboxes: [memberNamed("a", { pool: other })],
      pools: [poolOf(), other],
    });
    expect(decision.actions).toMatchObject([
      { do: "change-claim", metadata: { annotations: { "agents.x-k8s.io/sandbox-name": null } } },
      { do: "create" },
    ]);
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
    expect(deeds(judge({ pools: [recreate], templates, sandboxes: [sandbox] }))).toEqual(expected);
  });

  test.for([[poolOf({ updateStrategy: { type: "OnReplenish" } })], [poolOf()]])(
    "takes stale members with OnReplenish (CLAIM-18)",
    ([pool]) => {
      expect(deeds(judge({ pools: [pool as never], templates: [newer], sandboxes: [memberNamed("a")] }))).toEqual([
        "adopt a",
      ]);
    },
  );

  test.for([
    [{ env: [{ name: "A", value: "1" }] }, { envVarsInjectionPolicy: "Allowed" }],
    [{ volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] }, { volumeClaimTemplatesPolicy: "Allowed" }],
  ] as const)("ignores the pool for a claim with %j (CLAIM-19)", ([spec, policy]) => {
    const scene = { claim: claimOf(spec as never), templates: [templateOf(policy)], sandboxes: [memberNamed("a")] };
    expect(deeds(judge(scene))).toEqual(["create my-claim"]);
  });

  test("serves two of three claims from two members and creates a Sandbox for the third (CLAIM-20)", () => {
    const place = placeOf({ sandboxes: [memberNamed("a"), memberNamed("b")] });
    const all = ["one", "two", "three"].flatMap((name) => {
      const each = claimOf({}, { name, uid: name });
      return deeds(judge({ claim: each }, place));
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
    expect(deeds(judge({ claim: lost, sandboxes: [memberNamed("a")] }))).toEqual(["adopt a"]);
  });

  test("replaces the pool's labels and owner by the claim's at adoption (CLAIM-23)", () => {
    const annotations = {
      "agents.x-k8s.io/pod-name": "stale",
      keep: "me",
      "agents.x-k8s.io/sandbox-template-ref": "test-template",
    };
    const noted = { ...annotations, [evictable]: "true" };
    const { metadata } = adopted({ sandboxes: [memberNamed("a", { metadata: { annotations: noted } })] });
    expect(metadata.labels).toEqual({
      "agents.x-k8s.io/sandbox-template-ref-hash": "69155462",
      "agents.x-k8s.io/launch-type": "warm",
      "agents.x-k8s.io/claim-uid": "claim-uid",
    });
    expect(metadata.annotations).toEqual({ ...annotations, "agents.x-k8s.io/pod-name": "a" });
    expect(metadata.ownerReferences).toMatchObject([{ kind: "SandboxClaim", uid: "claim-uid", controller: true }]);
  });

  const templated = { labels: { app: "x" }, annotations: { note: "y" } };
  const described = templateOf({ podTemplate: { ...templateOf().spec.podTemplate, metadata: templated } });
  test("does not change the spec at adoption (CLAIM-24)", () => {
    const member = memberNamed("a", { template: described });
    const [action] = judge({ templates: [described], sandboxes: [member] }).actions;
    expect(action?.do === "adopt" && Object.keys(action.change)).toEqual(["metadata"]);
  });

  test.for([
    ["the claim adds to it", templated, { labels: { "sandbox.users.io/team": "z" } }],
    ["the template was edited", { labels: { app: "old" }, annotations: { note: "y" } }, {}],
    [
      "another controller's pool wrote there",
      { ...templated, labels: { app: "x", "agents.x-k8s.io/warm-pool-sandbox": "91dd7983" } },
      {},
    ],
  ] as const)("writes the claim's labels to the spec when it changes because %s (CLAIM-24)", ([, found, more]) => {
    const member = memberNamed("a", { template: described });
    const spec = { ...member.spec, podTemplate: { ...member.spec.podTemplate, metadata: found } };
    const claim = claimOf({ additionalPodMetadata: more });
    expect(
      adopted({ claim, templates: [described], sandboxes: [{ ...member, spec }] }).spec.podTemplate.metadata,
    ).toEqual({
      ...templated,
      labels: {
        app: "x",
        "agents.x-k8s.io/claim-uid": "claim-uid",
        "agents.x-k8s.io/sandbox-template-ref-hash": "69155462",
        ...("labels" in more && more.labels),
      },
    });
  });

  test("needs no second write after adoption (CLAIM-23)", () => {
    const sandbox = adopted({ sandboxes: [memberNamed("a")] });
    expect(judge({ sandboxes: [sandbox] }).actions).toEqual([]);
  });

  test.for([["go-client"], [undefined]])("sets created-by %s on the Sandbox and in its spec (CLAIM-25)", ([by]) => {
    const labels = by === undefined ? {} : { "agents.x-k8s.io/created-by": by };
    const additionalPodMetadata = { annotations: { note: "x" } };
    const claim = claimOf({ additionalPodMetadata }, { labels });
    const { metadata, spec } = adopted({ claim, sandboxes: [memberNamed("a")] });
    const key = "agents.x-k8s.io/created-by";
    expect([metadata.labels?.[key], spec.podTemplate.metadata?.labels?.[key]]).toEqual([by, by]);
  });

  const saying = (value: string) =>
    templateOf({
      podTemplate: { ...templateOf().spec.podTemplate, metadata: { annotations: { [evictable]: value } } },
    });
  const marked = memberNamed("a", { template: saying("true") });
  test.for([
    ["the pool's own is removed", {}, undefined],
    ["another pool's is removed from the spec", { sandboxes: [marked] }, undefined],
    [
      "another pool's is removed from the spec without a template too",
      { templates: [], sandboxes: [marked] },
      undefined,
    ],
    [
      "the template's false stays",
      { templates: [saying("false")], sandboxes: [memberNamed("a", { template: saying("false") })] },
      "false",
    ],
    [
      "the template's false stays when the template is gone",
      { templates: [], sandboxes: [memberNamed("a", { template: saying("false") })] },
      "false",
    ],
    [
      "the template's true stays",
      { templates: [saying("true")], sandboxes: [memberNamed("a", { template: saying("true") })] },
      "true",
    ],
    [
      "the claim's is set",
      { claim: claimOf({ additionalPodMetadata: { annotations: { [evictable]: "true" } } }) },
      "true",
    ],
  ] as const)("safe-to-evict at adoption: %s (CLAIM-26)", ([, scene, expected]) => {
    const { metadata, spec } = adopted({ sandboxes: [memberNamed("a")], ...scene });
    expect([metadata.annotations?.[evictable], spec.podTemplate.metadata?.annotations?.[evictable]]).toEqual([
      undefined,
      expected,
    ]);
  });

  test("removes a deleted member from the queue and keeps each member once, with its current node (CLAIM-27)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [onNode("a", "node-1"), memberNamed("b")] }, reservations);
    const update = (key: string, sandbox: Sandbox | undefined) =>
      reservations.follow({ deltas: [{ key, old: undefined, new: sandbox }], initial: false, wentBack: false });
    update("default/a", onNode("a", "node-2"));
    expect(reservations.count("default/pool-uid")).toBe(2);
    update("default/b", undefined);
    expect(reservations.count("default/pool-uid")).toBe(1);
    expect(reserve(reservations, "default/c")?.status?.nodeName).toBe("node-2");
  });

  test("does not give a referenced member to a claim while it is reserved for another (CLAIM-31)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (claim: string) => reserve(reservations, claim, "default/a")?.metadata.name;
    reserve(reservations, "default/one");
    expect([take("default/two"), take("default/one"), take("default/two")]).toEqual([undefined, "a", undefined]);
    reservations.endPass("default/one", "nothing");
    expect(take("default/two")).toBe("a");
  });

  test("takes no member of a deleted pool (CLAIM-27)", () => {
    expect(readyOf(judge({ pools: [], sandboxes: [memberNamed("a")] }))).toEqual(missingPool);
  });

  const labelled = (name: string) => claimOf({}, { labels: { "agents.x-k8s.io/sandbox-name": name } });

  test("moves a reference from an older controller's label to the annotation (CLAIM-28)", () => {
    const sandboxes = [boundTo(claim, { name: "pool-abc" })];
    expect(judge({ claim: labelled("pool-abc"), sandboxes }).actions).toMatchObject([
      {
        do: "change-claim",
        metadata: {
          labels: { "agents.x-k8s.io/sandbox-name": null },
          annotations: { "agents.x-k8s.io/sandbox-name": "pool-abc" },
        },
      },
    ]);
  });

  test.for([
    ["annotation", noted("a"), { annotations: { "agents.x-k8s.io/sandbox-name": null } }],
    ["label", labelled("a"), { labels: { "agents.x-k8s.io/sandbox-name": null } }],
  ] as const)("removes a reference (%s) to the Sandbox of another claim (CLAIM-29)", ([, referring, metadata]) => {
    const other = boundTo(claimOf({}, { uid: "other" }), { name: "a" });
    const old = {
      ...other,
      metadata: {
        ...other.metadata,
        ownerReferences: [
          owner({ apiVersion: "extensions.agents.x-k8s.io/v1alpha1", kind: "SandboxClaim", uid: "other" }),
        ],
      },
    };
    const { actions } = judge({ claim: referring, sandboxes: [old] });
    expect(actions).toMatchObject([{ do: "change-claim", metadata }, { do: "create" }]);
  });

  test("takes the referenced member, although it has no address yet (CLAIM-30)", () => {
    const sandboxes = [memberNamed("ready"), pending("a")];
    expect(deeds(judge({ claim: noted("a"), sandboxes }))).toEqual(["adopt a"]);
  });

  test("takes the referenced member, although a Sandbox with the claim's name exists (CLAIM-30)", () => {
    const stranger = boundTo(claimOf({}, { uid: "other" }), { name: "my-claim" });
    expect(deeds(judge({ claim: noted("a"), sandboxes: [stranger, memberNamed("a")] }))).toEqual(["adopt a"]);
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
    expect(judge({ sandboxes: [going] }).actions).toEqual([]);
  });

  test("keeps the Sandbox in the status and deletes a second one (CLAIM-49)", () => {
    const sandboxes = [boundTo(claim, { name: "a" }), boundTo(claim, { name: "b" })];
    const decision = judge({ claim: claimOf({}, {}, { sandbox: { name: "b" } }), sandboxes });
    expect([deeds(decision), decision.status?.sandbox?.name]).toEqual([["delete-sandbox a"], "b"]);
  });

  test("keeps the template of a bound claim that is pointed to another pool (CLAIM-50)", () => {
    const other = poolOf({ sandboxTemplateRef: { name: "other" } }, { name: "other", uid: "other-uid" });
    const scene = { pools: [poolOf(), other], templates: [templateOf(), templateOf({}, { name: "other" })] };
    const moved = claimOf({ warmPoolRef: { name: "other" } });
    expect(judge({ ...scene, claim: moved, sandboxes: [boundTo(moved)] }).actions).toEqual([]);
  });

  test("offers a reserved member to no other claim until it is released (CLAIM-31)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (by: string) => reserve(reservations, by)?.metadata.name;
    expect([take("one"), take("two"), take("one")]).toEqual(["a", undefined, "a"]);
    reservations.endPass("one", "member");
    expect(take("two")).toBeUndefined();
    reservations.endPass("one", "nothing");
    expect(take("two")).toBe("a");
  });

  test("drops reservations when the API server was restored from a backup (CLAIM-56)", () => {
    const reservations = new Reservations(() => undefined);
    placeOf({ sandboxes: [memberNamed("a")] }, reservations);
    const take = (by: string) => reserve(reservations, by)?.metadata.name;
    expect([take("one"), take("two")]).toEqual(["a", undefined]);
    reservations.follow({ deltas: [], initial: false, wentBack: true });
    expect(take("two")).toBe("a");
  });

  test("sorts conditions by type", () => {
    const conditions = [condition("Ready", "False", "PodSucceeded"), condition("Finished", "True", "PodSucceeded")];
    const { status } = judge({ sandboxes: [boundTo(claim, { status: { conditions } })] });
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["Finished", "Ready"]);
  });

  test("observes the offered member", () => {
    expect(look({ sandboxes: [memberNamed("a")] }).reservation).toMatchObject({
      type: "member",
      member: { sandbox: { metadata: { namespace: "default", name: "a" } } },
    });
  });
});

describe("triggers a claim only for changes that it shows", () => {
  const before = boundTo(claim);
  const withStatus = (over: object): Sandbox => ({ ...before, status: { ...before.status, ...over } });
  const ready = readyStatus.conditions ?? [];
  test.for([
    ["labels", { ...before, metadata: { ...before.metadata, labels: {} } }, false],
    ["spec", { ...before, spec: { ...before.spec, operatingMode: "Suspended" } }, false],
    ["Suspended", withStatus({ conditions: [...ready, condition("Suspended", "False", "NotSuspended")] }), false],
    ["PodScheduled", withStatus({ conditions: [...ready, condition("PodScheduled", "True", "PodScheduled")] }), false],
    [
      "the observed generation",
      withStatus({ conditions: ready.map((each) => ({ ...each, observedGeneration: 2 })) }),
      false,
    ],
    ["the reason of Ready", withStatus({ conditions: [condition("Ready", "True", "Other")] }), true],
    ["Finished", withStatus({ conditions: [...ready, condition("Finished", "True", "PodFailed")] }), true],
    ["addresses", withStatus({ podIPs: ["10.0.0.3"] }), true],
    ["deletion", { ...before, metadata: { ...before.metadata, deletionTimestamp: created } }, true],
    ["removal", undefined, true],
  ] as const)("%s: %s (CLAIM-44)", ([, after, expected]) => {
    expect(changesClaimed({ key: "default/my-claim", old: before, new: after })).toBe(expected);
  });
});

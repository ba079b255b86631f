import { applyMergePatch, type Sandbox, type SandboxClaim } from "@agent-sandbox/api";
import { objectKey } from "@agent-sandbox/kube";
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
import { Candidates } from "./candidates.ts";
import { cachesOf, deeds, judge, look, readyOf, type Scene } from "./claim.test.support.ts";
import { decide } from "./decide.ts";
import { observe } from "./observe.ts";
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
  test("9.11 #140 with nothing to take makes a Sandbox of the claim's name", () => {
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

  test("9.11 #141 without pool or template says which is missing, makes nothing, and waits for it without a timer", () => {
    const scenes = [judge({ pools: [] }), judge({ templates: [] })];
    expect(scenes.map(readyOf)).toEqual([missingPool, missingTemplate]);
    expect(scenes.map(({ actions, wakeAt }) => [actions, wakeAt])).toEqual(scenes.map(() => [[], undefined]));
  });

  test("9.11 #142 a Sandbox of the claim's name that is not the claim's is an error, and no reason to take another", () => {
    const stranger = boundTo(claimOf({}, { uid: "other" }), { name: "my-claim" });
    const decision = judge({ sandboxes: [stranger, memberNamed("a")] });
    expect(decision.actions).toEqual([]);
    expect(readyOf(decision)).toMatchObject({ status: "False", reason: "ReconcilerError" });
    expect(readyOf(decision)?.message).toMatch(/^Error seen: Cannot make Sandbox "my-claim".*another name$/);
  });

  test("9.11 #143 a Sandbox of the claim's own is its, and lacking labels are filled in", () => {
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
  ] as const)("9.11 #144 a bound claim stays Ready: %s", ([, gone]) => {
    const decision = judge({ sandboxes: [boundTo(claim)], ...gone });
    expect([deeds(decision), readyOf(decision)?.status]).toEqual([[], "True"]);
    expect(decision.status?.sandbox).toEqual({ name: "my-claim", podIPs: ["10.0.0.2"] });
  });

  test("9.11 #145 also with additional metadata, since nothing is wrong with its Sandbox (10.3.22)", () => {
    const special = claimOf({ additionalPodMetadata: { labels: { "sandbox.users.io/a": "b" } } });
    const sandboxes = [boundTo(special, { podMetadata: { labels: { "sandbox.users.io/a": "b" } } })];
    expect(readyOf(judge({ claim: special, sandboxes, templates: [], pools: [] }))?.status).toBe("True");
  });

  test("9.11 #146 takes the oldest of three that are Ready, and leaves two", () => {
    const candidates = new Candidates(() => undefined);
    const sandboxes = ["a", "b", "c"].map((name) => memberNamed(name));
    const caches = cachesOf({ sandboxes }, candidates);
    const seen = observe(claim, caches, { now: epoch, waitedMs: 0 });
    expect([deeds(decide(seen, epoch)), candidates.count("default/pool-uid")]).toEqual([["adopt a"], 2]);
  });

  test("counts the members that can serve at once, until they serve or go", () => {
    const candidates = new Candidates(() => undefined);
    const members = [memberNamed("a"), memberNamed("b"), addressed("c"), pending("d")];
    const counts = [candidates.stock];
    const tell = (name: string, old: Sandbox, now: Sandbox | undefined): void => {
      candidates.follow({ deltas: [{ key: `default/${name}`, old, new: now }], initial: false, wentBack: false });
      counts.push(candidates.stock);
    };
    const caches = cachesOf({ sandboxes: members }, candidates);
    counts.push(candidates.stock);
    observe(claim, caches, { now: epoch, waitedMs: 0 });
    counts.push(candidates.stock);
    tell("a", memberNamed("a"), boundTo(claim));
    tell("c", addressed("c"), memberNamed("c"));
    for (const name of ["b", "c"]) tell(name, memberNamed(name), undefined);
    expect(counts).toEqual([0, 2, 2, 1, 2, 1, 0]);
  });

  test.for([
    ["a younger one that is Ready", [addressed("old"), memberNamed("young")], "young"],
    ["the first of those with an address when none is Ready", [addressed("old"), addressed("young")], "old"],
  ] as const)("9.11 #147 takes %s", ([, sandboxes, expected]) => {
    expect(deeds(judge({ sandboxes }))).toEqual([`adopt ${expected}`]);
  });

  test("9.11 #148 takes the oldest on the node that has most", () => {
    const sandboxes = [onNode("a", "node-1"), onNode("b", "node-2"), onNode("c", "node-2")];
    expect(deeds(judge({ sandboxes }))).toEqual(["adopt b"]);
  });

  test("9.11 #149 waits a moment for members that have no address yet, without a word", () => {
    const decision = judge({ sandboxes: [pending("a", { nodeName: "node-7" })] });
    expect(decision).toEqual({ actions: [], notes: [], wakeAt: epoch + 2_000 });
  });

  test("9.11 #149 no more claims wait than members are on their way; the next gets its own at once (10.4.36)", () => {
    const caches = cachesOf({ sandboxes: [pending("a")] });
    const [first, second] = ["one", "two"].map((name) => {
      const each = claimOf({}, { name, uid: name });
      return deeds(decide(observe(each, caches, { now: epoch, waitedMs: 0 }), epoch));
    });
    expect([first, second]).toEqual([[], ["create two"]]);
  });

  test("9.11 #150 takes the one that got its address in time, told by an event and not by a timer; else makes its own", () => {
    const woken: string[] = [];
    const candidates = new Candidates((key) => woken.push(key));
    const caches = cachesOf({ sandboxes: [pending("a")] }, candidates);
    observe(claim, caches, { now: epoch, waitedMs: 0 });
    const delta = { key: "default/a", old: pending("a"), new: addressed("a") };
    candidates.follow({ deltas: [delta], initial: false, wentBack: false });
    expect(woken).toEqual(["default/my-claim"]);
    expect(deeds(decide(observe(claim, caches, { now: epoch + 100, waitedMs: 100 }), epoch))).toEqual(["adopt a"]);
    expect(deeds(judge({ sandboxes: [pending("a")], now: epoch + 2_000 }))).toEqual(["create my-claim"]);
  });

  test("9.11 #151 with no member at all makes its own at once", () => {
    const decision = judge();
    expect([deeds(decision), decision.wakeAt]).toEqual([["create my-claim"], undefined]);
  });

  test.for([
    ["being deleted", memberNamed("a", { metadata: { deletionTimestamp: created } })],
    ["another claim's", boundTo(claimOf({}, { uid: "other" }), { name: "a" })],
    ["nobody's, with forged labels", memberNamed("a", { metadata: { ownerReferences: [] } })],
    [
      "of an apps-group SandboxWarmPool",
      ownedBy("a", { apiVersion: "apps/v1", kind: "SandboxWarmPool", uid: "pool-uid" }),
    ],
    [
      "finished, though it still has an address",
      memberNamed("a", { status: { ...readyStatus, conditions: [condition("Finished", "True", "PodFailed")] } }),
    ],
    ["of a pool of that name that is gone", memberNamed("a", { pool: poolOf({}, { uid: "old-uid" }) })],
  ] as const)("9.11 #152 never takes a Sandbox that is %s", ([, sandbox]) => {
    expect(deeds(judge({ sandboxes: [sandbox] }))).toEqual(["create my-claim"]);
  });

  test("9.11 #153 takes a member whose owner reference is of an older version", () => {
    const apiVersion = "extensions.agents.x-k8s.io/v1alpha1";
    const sandbox = ownedBy("a", { apiVersion, kind: "SandboxWarmPool", name: "pool", uid: "pool-uid" });
    expect(deeds(judge({ sandboxes: [sandbox] }))).toEqual(["adopt a"]);
  });

  test("9.11 #154 cannot reach into another namespace, whatever the labels and the owner say", () => {
    const candidates = new Candidates(() => undefined);
    const elsewhere = memberNamed("a", { metadata: { namespace: "elsewhere" } });
    const caches = cachesOf({ sandboxes: [elsewhere] }, candidates);
    expect(deeds(decide(observe(claim, caches, { now: epoch, waitedMs: 0 }), epoch))).toEqual(["create my-claim"]);
    expect(candidates.count("elsewhere/pool-uid")).toBe(1);
  });

  const noted = (name: string, over: Partial<SandboxClaim["metadata"]> = {}) =>
    claimOf({}, { annotations: { "agents.x-k8s.io/sandbox-name": name }, ...over });

  test("9.11 #155 a reference to a member of another pool is dropped, and that member left alone", () => {
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
    ["a stale one is not taken", memberNamed("a"), [newer], ["create my-claim"]],
    ["a fresh one is", memberNamed("a", { template: newer }), [newer], ["adopt a"]],
    ["one without hash that is the same is", hashless, [templateOf()], ["adopt a"]],
    ["none is when the template cannot be read", memberNamed("a"), [], []],
  ] as const)("9.11 #156 Recreate: %s", ([, sandbox, templates, expected]) => {
    expect(deeds(judge({ pools: [recreate], templates, sandboxes: [sandbox] }))).toEqual(expected);
  });

  test.for([[poolOf({ updateStrategy: { type: "OnReplenish" } })], [poolOf()]])(
    "9.11 #157 OnReplenish hands out stale members",
    ([pool]) => {
      expect(deeds(judge({ pools: [pool as never], templates: [newer], sandboxes: [memberNamed("a")] }))).toEqual([
        "adopt a",
      ]);
    },
  );

  test.for([
    [{ env: [{ name: "A", value: "1" }] }, { envVarsInjectionPolicy: "Allowed" }],
    [{ volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }] }, { volumeClaimTemplatesPolicy: "Allowed" }],
  ] as const)("9.11 #158 with %j ignores the pool", ([spec, policy]) => {
    const scene = { claim: claimOf(spec as never), templates: [templateOf(policy)], sandboxes: [memberNamed("a")] };
    expect(deeds(judge(scene))).toEqual(["create my-claim"]);
  });

  test("9.11 #159 of three claims two get a member each and one its own", () => {
    const caches = cachesOf({ sandboxes: [memberNamed("a"), memberNamed("b")] });
    const all = ["one", "two", "three"].flatMap((name) => {
      const each = claimOf({}, { name, uid: name });
      return deeds(decide(observe(each, caches, { now: epoch, waitedMs: 0 }), epoch));
    });
    expect(all).toEqual(["adopt a", "adopt b", "create three"]);
  });

  test("9.11 #160 a bound claim takes nothing more, and a lacking launch type is filled in", () => {
    const bound = boundTo(claim, { name: "pool-abc" });
    const { "agents.x-k8s.io/launch-type": _, ...labels } = bound.metadata.labels ?? {};
    const sandboxes = [{ ...bound, metadata: { ...bound.metadata, labels } }, memberNamed("a")];
    expect(judge({ sandboxes }).actions).toMatchObject([
      { do: "change-sandbox", change: { metadata: { labels: { "agents.x-k8s.io/launch-type": "warm" } } } },
    ]);
  });

  test("9.11 #161 binds again when the Sandbox that the status names is gone", () => {
    const lost = claimOf({}, {}, { sandbox: { name: "gone" } });
    expect(deeds(judge({ claim: lost, sandboxes: [memberNamed("a")] }))).toEqual(["adopt a"]);
  });

  test("9.11 #162 an adopted Sandbox loses what made it the pool's and gets what makes it the claim's", () => {
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
  test("9.11 #162 who claimed a Sandbox does not change its spec (10.4.29)", () => {
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
  ] as const)("9.11 #162 where the spec changes, for %s, who claimed it is there too", ([, found, more]) => {
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

  test("9.11 #162 what adoption leaves needs no second write", () => {
    const sandbox = adopted({ sandboxes: [memberNamed("a")] });
    expect(judge({ sandboxes: [sandbox] }).actions).toEqual([]);
  });

  test.for([["go-client"], [undefined]])("9.11 #163 created-by %s goes to the Sandbox, and with its spec", ([by]) => {
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
  ] as const)("9.11 #164 safe-to-evict: %s", ([, scene, expected]) => {
    const { metadata, spec } = adopted({ sandboxes: [memberNamed("a")], ...scene });
    expect([metadata.annotations?.[evictable], spec.podTemplate.metadata?.annotations?.[evictable]]).toEqual([
      undefined,
      expected,
    ]);
  });

  test("9.11 #165 a deleted Sandbox leaves the queue, one seen twice is in it once, with its newest node", () => {
    const candidates = new Candidates(() => undefined);
    cachesOf({ sandboxes: [onNode("a", "node-1"), memberNamed("b")] }, candidates);
    const update = (key: string, sandbox: Sandbox | undefined) =>
      candidates.follow({ deltas: [{ key, old: undefined, new: sandbox }], initial: false, wentBack: false });
    update("default/a", onNode("a", "node-2"));
    expect(candidates.count("default/pool-uid")).toBe(2);
    update("default/b", undefined);
    expect(candidates.count("default/pool-uid")).toBe(1);
    expect(candidates.take("default/pool-uid", "default/c")?.status?.nodeName).toBe("node-2");
  });

  test("9.11 #168 a noted member that was promised to another claim stays promised (10.2.6)", () => {
    const candidates = new Candidates(() => undefined);
    cachesOf({ sandboxes: [memberNamed("a")] }, candidates);
    const take = (claim: string) => candidates.takeNamed("default/a", "default/pool-uid", claim)?.metadata.name;
    candidates.take("default/pool-uid", "default/one");
    expect([take("default/two"), take("default/one"), candidates.promised("default/one")?.key]).toEqual([
      undefined,
      "a",
      "default/a",
    ]);
    candidates.release("default/one");
    expect(take("default/two")).toBe("a");
  });

  test("9.11 #165 nothing is taken from a pool that is gone", () => {
    expect(readyOf(judge({ pools: [], sandboxes: [memberNamed("a")] }))).toEqual(missingPool);
  });

  const labelled = (name: string) => claimOf({}, { labels: { "agents.x-k8s.io/sandbox-name": name } });

  test("9.11 #166 a reference that an older controller left as a label becomes the annotation", () => {
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
  ] as const)("9.11 #167 a reference (%s) to another claim's Sandbox is removed", ([, referring, metadata]) => {
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

  test("9.11 #168 what another controller committed to is finished, address or not, and nothing else is considered", () => {
    const sandboxes = [memberNamed("ready"), pending("a")];
    expect(deeds(judge({ claim: noted("a"), sandboxes }))).toEqual(["adopt a"]);
  });

  test("9.11 #168 also when somebody else has a Sandbox of the claim's name", () => {
    const stranger = boundTo(claimOf({}, { uid: "other" }), { name: "my-claim" });
    expect(deeds(judge({ claim: noted("a"), sandboxes: [stranger, memberNamed("a")] }))).toEqual(["adopt a"]);
  });

  test("9.12 #180 what is not known to be gone stays named while something fails", () => {
    const bound = claimOf({}, {}, { sandbox: { name: "pool-abc", podIPs: ["10.0.0.2"] } });
    const failure = { reason: "ReconcilerError", message: "Error seen: try again" } as const;
    const { status } = decide({ ...look({ claim: bound, pools: [] }), failure }, epoch);
    expect(status).toMatchObject({
      sandbox: { name: "pool-abc", podIPs: ["10.0.0.2"] },
      conditions: [{ type: "Ready", status: "False", ...failure }],
    });
  });

  test("a Sandbox that is being deleted is not put right any more", () => {
    const bound = boundTo(claim);
    const { labels: _, ...metadata } = bound.metadata;
    const going = { ...bound, metadata: { ...metadata, deletionTimestamp: created } };
    expect(judge({ sandboxes: [going] }).actions).toEqual([]);
  });

  test("a claim that was given two Sandboxes keeps the one its status names and returns the other", () => {
    const sandboxes = [boundTo(claim, { name: "a" }), boundTo(claim, { name: "b" })];
    const decision = judge({ claim: claimOf({}, {}, { sandbox: { name: "b" } }), sandboxes });
    expect([deeds(decision), decision.status?.sandbox?.name]).toEqual([["delete-sandbox a"], "b"]);
  });

  test("a bound claim that is pointed to another pool keeps its template, and so its NetworkPolicy (10.2.9)", () => {
    const other = poolOf({ sandboxTemplateRef: { name: "other" } }, { name: "other", uid: "other-uid" });
    const scene = { pools: [poolOf(), other], templates: [templateOf(), templateOf({}, { name: "other" })] };
    const moved = claimOf({ warmPoolRef: { name: "other" } });
    expect(judge({ ...scene, claim: moved, sandboxes: [boundTo(moved)] }).actions).toEqual([]);
  });

  test("a member promised to one claim is offered to no other until it is let go", () => {
    const candidates = new Candidates(() => undefined);
    cachesOf({ sandboxes: [memberNamed("a")] }, candidates);
    const take = (by: string) => candidates.take("default/pool-uid", by)?.metadata.name;
    expect([take("one"), take("two"), take("one")]).toEqual(["a", undefined, "a"]);
    candidates.release("one");
    expect(take("two")).toBe("a");
  });

  test("after the server was set back, what was promised before may be promised again", () => {
    const candidates = new Candidates(() => undefined);
    cachesOf({ sandboxes: [memberNamed("a")] }, candidates);
    const take = (by: string) => candidates.take("default/pool-uid", by)?.metadata.name;
    expect([take("one"), take("two")]).toEqual(["a", undefined]);
    candidates.follow({ deltas: [], initial: false, wentBack: true });
    expect(take("two")).toBe("a");
  });

  test("conditions come sorted by type", () => {
    const conditions = [condition("Ready", "False", "PodSucceeded"), condition("Finished", "True", "PodSucceeded")];
    const { status } = judge({ sandboxes: [boundTo(claim, { status: { conditions } })] });
    expect(status?.conditions?.map(({ type }) => type)).toEqual(["Finished", "Ready"]);
  });

  test("observes what it was shown and nothing else", () => {
    expect(objectKey(look({ sandboxes: [memberNamed("a")] }).candidate?.sandbox ?? {})).toBe("default/a");
  });
});

describe("9.12 #182 wakes a claim only for what it shows", () => {
  const before = boundTo(claim);
  const withStatus = (over: object): Sandbox => ({ ...before, status: { ...before.status, ...over } });
  const ready = readyStatus.conditions ?? [];
  test.for([
    ["labels", { ...before, metadata: { ...before.metadata, labels: {} } }, false],
    ["spec", { ...before, spec: { ...before.spec, operatingMode: "Suspended" } }, false],
    ["Suspended", withStatus({ conditions: [...ready, condition("Suspended", "False", "NotSuspended")] }), false],
    ["PodScheduled", withStatus({ conditions: [...ready, condition("PodScheduled", "True", "PodScheduled")] }), false],
    [
      "the generation seen",
      withStatus({ conditions: ready.map((each) => ({ ...each, observedGeneration: 2 })) }),
      false,
    ],
    ["the reason of Ready", withStatus({ conditions: [condition("Ready", "True", "Other")] }), true],
    ["Finished", withStatus({ conditions: [...ready, condition("Finished", "True", "PodFailed")] }), true],
    ["addresses", withStatus({ podIPs: ["10.0.0.3"] }), true],
    ["being deleted", { ...before, metadata: { ...before.metadata, deletionTimestamp: created } }, true],
    ["being gone", undefined, true],
  ] as const)("%s: %s", ([, after, expected]) => {
    expect(changesClaimed({ key: "default/my-claim", old: before, new: after })).toBe(expected);
  });
});

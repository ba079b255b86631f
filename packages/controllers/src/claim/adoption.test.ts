import { applyMergePatch, type Sandbox } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { claimOf, memberNamed, templateOf } from "../extensions.test.support.ts";
import { besidesRecord, judge, type Scene } from "./claim.test.support.ts";

const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/** The Sandbox as the adoption leaves it. */
function adopted(scene: Scene): Sandbox {
  const action = judge(scene).actions.find((each) => each.do === "adopt");
  if (action?.do !== "adopt") throw new Error("nothing was adopted");
  return applyMergePatch(action.member, action.change) as Sandbox;
}

describe("adoption of a pool member", () => {
  test("replaces the pool's labels and owner by the claim's at adoption (CLAIM-23)", () => {
    const annotations = {
      "agents.x-k8s.io/pod-name": "stale",
      keep: "me",
      "agents.x-k8s.io/sandbox-template-ref": "test-template",
    };
    const withEvictable = { ...annotations, [evictable]: "true" };
    const { metadata } = adopted({ sandboxes: [memberNamed("a", { metadata: { annotations: withEvictable } })] });
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
    expect(besidesRecord(judge({ sandboxes: [sandbox] }))).toEqual([]);
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
});

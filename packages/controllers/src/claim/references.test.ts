import { type SandboxClaim } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, memberNamed, poolOf, startingStatus } from "../extensions.test.support.ts";
import { actionsOf, judge } from "./claim.test.support.ts";

const claim = claimOf();
const owner = (over: object) => ({ apiVersion: "v1", kind: "X", name: "x", uid: "x", controller: true, ...over });
const pending = (name: string, over = {}) => memberNamed(name, { status: { ...startingStatus, ...over } });

describe("references of claims to members", () => {
  const withAnnotation = (name: string, over: Partial<SandboxClaim["metadata"]> = {}) =>
    claimOf({}, { annotations: { "agents.x-k8s.io/sandbox-name": name }, ...over });

  test("removes a reference to a member of another pool (CLAIM-16)", () => {
    const other = poolOf({}, { name: "other", uid: "other-uid" });
    const decision = judge({
      claim: withAnnotation("a"),
      sandboxes: [memberNamed("a", { pool: other })],
      pools: [poolOf(), other],
    });
    expect(decision.actions).toMatchObject([
      { do: "change-claim", metadata: { annotations: { "agents.x-k8s.io/sandbox-name": null } } },
      { do: "create" },
    ]);
  });

  const withLabel = (name: string) => claimOf({}, { labels: { "agents.x-k8s.io/sandbox-name": name } });

  test("moves a reference from an older controller's label to the annotation (CLAIM-28)", () => {
    const sandboxes = [boundTo(claim, { name: "pool-abc" })];
    expect(judge({ claim: withLabel("pool-abc"), sandboxes }).actions).toMatchObject([
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
    ["annotation", withAnnotation("a"), { annotations: { "agents.x-k8s.io/sandbox-name": null } }],
    ["label", withLabel("a"), { labels: { "agents.x-k8s.io/sandbox-name": null } }],
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
    expect(actionsOf(judge({ claim: withAnnotation("a"), sandboxes }))).toEqual(["adopt a"]);
  });

  test("takes the referenced member, although a Sandbox with the claim's name exists (CLAIM-30)", () => {
    const stranger = boundTo(claimOf({}, { uid: "other" }), { name: "my-claim" });
    expect(actionsOf(judge({ claim: withAnnotation("a"), sandboxes: [stranger, memberNamed("a")] }))).toEqual([
      "adopt a",
    ]);
  });
});

import { controllerReference, type NetworkPolicy, type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, condition, created, epoch, readyStatus } from "../extensions.test.support.ts";
import { actionsOf, judge, readyOf, type Scene } from "./claim.test.support.ts";

const second = 1_000;
type Lifecycle = NonNullable<SandboxClaim["spec"]["lifecycle"]>;
const past = "2026-03-01T09:59:59Z";
const living = (lifecycle: Lifecycle, status?: SandboxClaim["status"]) => claimOf({ lifecycle }, {}, status);
const told = (name?: string): NonNullable<SandboxClaim["status"]> => ({
  conditions: [condition("Ready", "False", "ClaimExpired")],
  ...(name && { sandbox: { name } }),
});
const finishedAt = (time: string, message = "") =>
  condition("Finished", "True", "PodSucceeded", { lastTransitionTime: time, message, observedGeneration: 3 });
const typesOf = (scene: Scene) => judge(scene).status?.conditions?.map(({ type }) => type);

describe("the end of a claim", () => {
  test("reports expiry, then deletes the Sandbox and keeps the claim with Retain (EXPIRE-13)", () => {
    const lifecycle = { shutdownTime: past, shutdownPolicy: "Retain" } as const;
    const claim = living(lifecycle);
    const sandboxes = [boundTo(claim, { name: "pool-abc" })];
    const first = judge({ claim, sandboxes });
    expect([actionsOf(first), readyOf(first)?.reason, first.requeueAt]).toEqual([[], "ClaimExpired", epoch]);
    expect(first.events).toMatchObject([{ type: "Normal", reason: "ClaimExpired", action: "Claim Expired" }]);
    const second = judge({ claim: living(lifecycle, told("pool-abc")), sandboxes });
    expect(actionsOf(second)).toEqual(["delete-sandbox pool-abc"]);
    expect(second.status?.sandbox?.name).toBe("pool-abc");
    const gone = judge({ claim: living(lifecycle, told("pool-abc")) });
    expect([actionsOf(gone), gone.status?.sandbox, readyOf(gone)?.reason]).toEqual([[], undefined, "ClaimExpired"]);
  });

  test("does not delete a Sandbox that is already being deleted (EXPIRE-14)", () => {
    const claim = living({ shutdownTime: past }, told("my-claim"));
    const bound = boundTo(claim);
    const sandboxes = [{ ...bound, metadata: { ...bound.metadata, deletionTimestamp: created } }];
    const decision = judge({ claim, sandboxes });
    expect([actionsOf(decision), decision.status?.sandbox?.name]).toEqual([[], "my-claim"]);
  });

  test("keeps a Sandbox that the expired claim does not control (EXPIRE-15)", () => {
    const claim = living({ shutdownTime: past }, told("my-claim"));
    const decision = judge({ claim, sandboxes: [boundTo(claimOf({}, { uid: "other" }))] });
    expect([actionsOf(decision), decision.status?.sandbox, readyOf(decision)?.reason]).toEqual([
      [],
      undefined,
      "ClaimExpired",
    ]);
  });

  test.for([
    ["Delete", false],
    ["DeleteForeground", true],
  ] as const)("reports expiry, then deletes the claim with %s (EXPIRE-16)", ([shutdownPolicy, foreground]) => {
    const lifecycle = { shutdownTime: past, shutdownPolicy };
    expect(actionsOf(judge({ claim: living(lifecycle) }))).toEqual([]);
    const decision = judge({ claim: living(lifecycle, told()) });
    expect(decision.actions).toEqual([{ do: "delete-claim", foreground }]);
    expect(decision.status).toBeUndefined();
    expect(decision.events).toMatchObject([{ reason: "ClaimExpired", action: "Deleting" }]);
  });

  const wakeOf = (lifecycle: Lifecycle, finished = "2026-03-01T09:59:30Z") => {
    const claim = living(lifecycle);
    const status = { ...readyStatus, conditions: [finishedAt(finished)] };
    const decision = judge({ claim, sandboxes: [boundTo(claim, { status })] });
    return [decision.requeueAt === undefined ? undefined : decision.requeueAt - epoch, readyOf(decision)?.reason];
  };
  test.for([
    ["120 s after it finished 30 s ago", { ttlSecondsAfterFinished: 120 }, [90 * second, "SandboxNotReady"]],
    ["at once", { ttlSecondsAfterFinished: 0 }, [0, "ClaimExpired"]],
    [
      "at the earlier shutdown time",
      { ttlSecondsAfterFinished: 120, shutdownTime: "2026-03-01T10:00:10Z" },
      [10 * second, "SandboxNotReady"],
    ],
    [
      "at the earlier end of its TTL",
      { ttlSecondsAfterFinished: 60, shutdownTime: "2026-03-01T10:01:00Z" },
      [30 * second, "SandboxNotReady"],
    ],
    ["never", {}, [undefined, "SandboxNotReady"]],
    ["never with an invalid shutdown time", { shutdownTime: "soon" }, [undefined, "SandboxNotReady"]],
    ["in the year 9999", { shutdownTime: "9999-12-31T23:59:59Z" }, [253402300799000 - epoch, "SandboxNotReady"]],
  ] as const)("ends a finished claim %s (EXPIRE-17)", ([, lifecycle, expected]) => {
    expect(wakeOf(lifecycle)).toEqual(expected);
  });

  test("reports expiry first with a TTL of 0 and keeps Finished while the Sandbox is deleted (EXPIRE-18)", () => {
    const claim = living({ ttlSecondsAfterFinished: 0 });
    const finished = finishedAt("2026-03-01T09:59:59Z");
    const sandboxes = [boundTo(claim, { status: { conditions: [finished] } })];
    const first = judge({ claim, sandboxes });
    expect(actionsOf(first)).toEqual([]);
    expect(first.status?.conditions).toMatchObject([finished, { type: "Ready", reason: "ClaimExpired" }]);
    const second = judge({ claim: { ...claim, status: first.status ?? {} }, sandboxes });
    expect(actionsOf(second)).toEqual(["delete-sandbox my-claim"]);
    expect(typesOf({ claim: { ...claim, status: first.status ?? {} } })).toEqual(["Finished", "Ready"]);
  });

  test("removes Finished when the Sandbox of a living claim is gone (EXPIRE-19)", () => {
    const claim = claimOf({}, {}, { conditions: [finishedAt(past)] });
    expect(typesOf({ claim, pools: [] })).toEqual(["Ready"]);
  });

  test("creates a Sandbox for a retained claim whose end is moved (EXPIRE-20)", () => {
    expect(actionsOf(judge({ claim: living({ shutdownTime: "2026-03-01T11:00:00Z" }, told()) }))).toEqual([
      "create my-claim",
    ]);
  });

  const policy = (owner: SandboxClaim): NetworkPolicy => ({
    metadata: {
      name: "my-claim-network-policy",
      namespace: "default",
      ownerReferences: [controllerReference(sandboxClaims, owner)],
    },
    spec: { podSelector: {} },
  });
  test("deletes a NetworkPolicy that an older controller created for the claim, and keeps a user's (CLAIM-53)", () => {
    expect(actionsOf(judge({ policies: [policy(claimOf())], templates: [] }))).toEqual(["delete-policy"]);
    expect(actionsOf(judge({ policies: [policy(claimOf({}, { uid: "other" }))], templates: [] }))).toEqual([]);
  });

  test("sets the claim's generation on Ready and the Sandbox's on Finished (CLAIM-54)", () => {
    const claim = claimOf({}, { generation: 8 });
    const conditions = [finishedAt(past), condition("Ready", "False", "PodSucceeded", { observedGeneration: 3 })];
    const { status } = judge({ claim, sandboxes: [boundTo(claim, { status: { conditions } })] });
    expect(status?.conditions?.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
      ["Finished", 3],
      ["Ready", 8],
    ]);
  });

  test("sets the claim's generation on Ready of an expired claim (CLAIM-54)", () => {
    const claim = claimOf({ lifecycle: { shutdownTime: past } }, { generation: 8 });
    expect(judge({ claim }).status?.conditions).toMatchObject([{ reason: "ClaimExpired", observedGeneration: 8 }]);
  });

  test("sets the transition time of Ready to when the claim became Ready (CLAIM-55)", () => {
    const claim = claimOf({}, { creationTimestamp: "2026-03-01T12:00:00Z" });
    const now = Date.parse("2026-03-01T12:00:01Z");
    const { status } = judge({ claim, sandboxes: [boundTo(claim)], now });
    expect(status?.conditions?.[0]?.lastTransitionTime).toBe("2026-03-01T12:00:01Z");
  });

  test("reports an expired Sandbox on its claim (EXPIRE-3)", () => {
    const conditions = [condition("Ready", "False", "SandboxExpired", { message: "Sandbox has expired" })];
    expect(readyOf(judge({ sandboxes: [boundTo(claimOf(), { status: { conditions } })] }))?.reason).toBe(
      "SandboxExpired",
    );
  });

  test.for(["InvalidConfiguration", "PodFailed", "PodSucceeded"])(
    "reports on the claim why its Sandbox cannot become Ready: %s (STATUS-15)",
    (reason) => {
      const conditions = [condition("Ready", "False", reason, { message: "why" })];
      expect(readyOf(judge({ sandboxes: [boundTo(claimOf(), { status: { conditions } })] }))).toMatchObject({
        status: "False",
        reason,
        message: "why",
      });
    },
  );

  test("does nothing for a claim that is being deleted (EXPIRE-21)", () => {
    const claim = claimOf({}, { deletionTimestamp: created });
    expect(judge({ claim, sandboxes: [boundTo(claim)] })).toEqual({ actions: [], events: [] });
  });
});

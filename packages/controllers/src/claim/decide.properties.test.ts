import {
  applyMergePatch,
  controllerOf,
  type EnvVar,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  semanticEqual,
} from "@agent-sandbox/api";
import * as fc from "fast-check";
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
import { freshMemory, judge, look } from "./claim.test.support.ts";
import { decide } from "./decide.ts";
import type { Action, Decision as EngineDecision } from "./decision.ts";

type Decision = Omit<EngineDecision, "memory">;

interface State {
  readonly claim: SandboxClaim;
  readonly sandboxes: readonly Sandbox[];
  readonly pools: readonly SandboxWarmPool[];
  readonly templates: readonly SandboxTemplate[];
  readonly now: number;
}

const finished = condition("Finished", "True", "PodSucceeded", { lastTransitionTime: "2026-03-01T09:59:00Z" });
const statuses = fc.constantFrom<Sandbox["status"][]>(
  {},
  startingStatus,
  readyStatus,
  { ...startingStatus, podIPs: ["10.0.0.9"] },
  { conditions: [finished, condition("Ready", "False", "PodSucceeded")] },
);
const deleting = fc.constantFrom({}, {}, {}, { deletionTimestamp: created });
const names = fc.constantFrom("my-claim", "a", "b", "c");
const stranger = claimOf({}, { name: "stranger", uid: "stranger-uid" });
const otherPool = poolOf({}, { name: "other", uid: "other-uid" });

const sandbox = fc
  .tuple(names, fc.constantFrom("member", "member", "other-member", "mine", "theirs", "orphan"), statuses, deleting)
  .map(([name, kind, status = {}, metadata]): Sandbox => {
    if (kind === "mine" || kind === "theirs") {
      const made = boundTo(kind === "mine" ? claimOf() : stranger, { name, status });
      return { ...made, metadata: { ...made.metadata, ...metadata } };
    }
    const pool = kind === "other-member" ? otherPool : poolOf();
    return memberNamed(name, {
      pool,
      status,
      metadata: kind === "orphan" ? { ...metadata, ownerReferences: [] } : metadata,
    });
  });

const claim = fc
  .record({
    env: fc.constantFrom<EnvVar[][]>([], [], [{ name: "A", value: "1" }]),
    labels: fc.constantFrom({}, {}, { "sandbox.users.io/a": "b" }, { plain: "x" }),
    lifecycle: fc.constantFrom(
      undefined,
      undefined,
      { shutdownTime: "2026-03-01T09:00:00Z" },
      { shutdownTime: "2026-03-01T09:00:00Z", shutdownPolicy: "Delete" as const },
      { shutdownTime: "2026-03-02T09:00:00Z" },
      { ttlSecondsAfterFinished: 0 },
    ),
    reference: fc.constantFrom(
      {},
      {},
      { "agents.x-k8s.io/sandbox-name": "a" },
      { "agents.x-k8s.io/sandbox-name": "gone" },
    ),
    metadata: deleting,
  })
  .map(({ env, labels, lifecycle, reference, metadata }) =>
    claimOf(
      { env, additionalPodMetadata: { labels }, ...(lifecycle && { lifecycle }) },
      { annotations: reference, ...metadata },
    ),
  );

const state: fc.Arbitrary<State> = fc.record({
  claim,
  sandboxes: fc.uniqueArray(sandbox, { maxLength: 4, selector: ({ metadata }) => metadata.name }),
  pools: fc.constantFrom(
    [],
    [poolOf()],
    [poolOf({ updateStrategy: { type: "Recreate" as const } })],
    [poolOf(), otherPool],
  ),
  templates: fc.constantFrom(
    [],
    [templateOf()],
    [templateOf({ envVarsInjectionPolicy: "Allowed" as const })],
    [templateOf({ service: true })],
  ),
  now: fc.constantFrom(epoch, epoch + 10_000),
});

const replace = (all: readonly Sandbox[], old: Sandbox, next: Sandbox[]): Sandbox[] =>
  all.flatMap((each) => (each === old ? next : [each]));

/** What the API server would hold after the action. */
function carryOut(before: State, action: Action): State {
  const { claim: held, sandboxes } = before;
  switch (action.do) {
    case "adopt":
      return {
        ...before,
        sandboxes: replace(sandboxes, action.member, [applyMergePatch(action.member, action.change) as Sandbox]),
      };
    case "change-sandbox":
      return {
        ...before,
        sandboxes: replace(sandboxes, action.sandbox, [applyMergePatch(action.sandbox, action.change) as Sandbox]),
      };
    case "delete-sandbox":
      return { ...before, sandboxes: replace(sandboxes, action.sandbox, []) };
    case "create": {
      const metadata = { ...action.sandbox.metadata, uid: "new-uid", resourceVersion: "1", creationTimestamp: created };
      return { ...before, sandboxes: [...sandboxes, { ...action.sandbox, metadata }] };
    }
    case "change-claim":
      return { ...before, claim: applyMergePatch(held, { metadata: action.metadata }) as SandboxClaim };
    case "delete-claim":
      return { ...before, claim: { ...held, metadata: { ...held.metadata, deletionTimestamp: created } } };
    default:
      return before;
  }
}

function step(before: State): { readonly after: State; readonly decision: Decision } {
  const decision = judge(before);
  const acted = decision.actions.reduce(carryOut, before);
  const { status } = decision.actions.length === 0 ? decision : judge(acted);
  const after = status === undefined ? acted : { ...acted, claim: { ...acted.claim, status } };
  return { after, decision };
}

const isAtRest = (before: State, { actions, status }: Decision): boolean =>
  actions.length === 0 && (status === undefined || semanticEqual(status, before.claim.status, ["status"]));

describe("decide() for any claim", () => {
  test("returns the same decision for the same observation", () => {
    fc.assert(
      fc.property(state, (given) => {
        const seen = look(given);
        expect(decide(seen, freshMemory, given.now)).toEqual(decide(seen, freshMemory, given.now));
        expect(judge(given)).toEqual(judge(given));
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) },
    );
  });

  test("settles", () => {
    fc.assert(
      fc.property(state, (given) => {
        let current = given;
        for (let pass = 0; pass < 6; pass++) current = step(current).after;
        expect(isAtRest(current, step(current).decision)).toBe(true);
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 300) },
    );
  });

  test("never changes Sandboxes of other owners, sets a second owner or takes a second Sandbox (ABUSE-13)", () => {
    fc.assert(
      fc.property(state, (given) => {
        for (let pass = 0, current = given; pass < 4; pass++) {
          const { after } = step(current);
          for (const before of current.sandboxes) {
            const owner = controllerOf(before);
            const now = after.sandboxes.find(({ metadata }) => metadata.uid === before.metadata.uid);
            const isOurs = owner?.uid === "claim-uid" || owner?.uid === "pool-uid";
            expect(isOurs || now === before).toBe(true);
            expect(
              (now?.metadata.ownerReferences ?? []).filter(({ controller }) => controller).length,
            ).toBeLessThanOrEqual(1);
          }
          const mine = (all: readonly Sandbox[]) =>
            all.filter((each) => controllerOf(each)?.uid === "claim-uid").length;
          expect(mine(after.sandboxes)).toBeLessThanOrEqual(Math.max(1, mine(current.sandboxes)));
          current = after;
        }
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 300) },
    );
  });

  test("reports a claim with a Ready Sandbox as Ready until it expires (CLAIM-57)", () => {
    const healthy = state.filter(({ claim: { metadata, spec } }) => !metadata.deletionTimestamp && !spec.lifecycle);
    fc.assert(
      fc.property(healthy, (given) => {
        const decision = judge({ ...given, sandboxes: [boundTo(given.claim)] });
        expect(decision.status?.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
      }),
      { numRuns: 300 },
    );
  });
});

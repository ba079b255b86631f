import {
  applyMergePatch,
  controllerOf,
  controllerReference,
  type Sandbox,
  type SandboxWarmPool,
  sandboxWarmPools,
  semanticEqual,
} from "@agent-sandbox/api";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  created,
  epoch,
  memberNamed,
  poolOf,
  readyStatus,
  startingStatus,
  templateOf,
} from "../extensions.test.support.ts";
import type { Action, Decision, PoolMemory } from "./decide.ts";
import { judge, type Scene } from "./pool.test.support.ts";

interface State extends Scene {
  readonly pool: SandboxWarmPool;
  readonly sandboxes: readonly Sandbox[];
  readonly now: number;
  readonly memory: PoolMemory;
  readonly made: number;
}

const newer = templateOf({ podTemplate: { spec: { containers: [{ name: "c", image: "newer" }] } } });
const other = poolOf({}, { name: "other", uid: "other-uid" });
const sandbox = fc
  .record({
    name: fc.integer({ min: 0, max: 30 }).map((n) => `m${n}`),
    kind: fc.constantFrom("member", "member", "member", "orphan", "foreign"),
    status: fc.constantFrom<Sandbox["status"][]>(readyStatus, startingStatus),
    template: fc.constantFrom(templateOf(), newer),
    deleting: fc.constantFrom({}, {}, {}, { deletionTimestamp: created }),
  })
  .map(({ name, kind, status = {}, template, deleting }) => {
    const orphaned = kind === "orphan" ? { ownerReferences: [] } : {};
    const pool = kind === "foreign" ? other : poolOf();
    return memberNamed(name, { status, template, pool, metadata: { ...deleting, ...orphaned } });
  });

const state: fc.Arbitrary<State> = fc.record({
  pool: fc
    .tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom("Recreate" as const, "OnReplenish" as const))
    .map(([replicas, type]) => poolOf({ replicas, updateStrategy: { type } })),
  sandboxes: fc.uniqueArray(sandbox, { maxLength: 15, selector: ({ metadata }) => metadata.name }),
  template: fc.constantFrom(templateOf(), newer, null),
  now: fc.constantFrom(epoch, epoch + 400_000),
  memory: fc.constantFrom<PoolMemory[]>({}, { refill: { lastCount: 12 } }, { checkUnreadyAt: epoch + 300_000 }),
  settings: fc.constantFrom({}, { maxBatch: 2 }, { maxPerSecond: 3 }, { replenishDelayMs: 1_000 }),
  made: fc.constant(0),
});

/** What the API server would hold after the action, once all deletes are done. */
function carryOut(before: State, action: Action): State {
  const { sandboxes } = before;
  switch (action.do) {
    case "delete":
      return { ...before, sandboxes: sandboxes.filter((each) => !action.members.includes(each)) };
    case "create": {
      const fresh = Array.from({ length: action.count }, (_, n) => {
        const name = `new${before.made + n}`;
        const metadata = {
          ...action.member.metadata,
          name,
          uid: name,
          resourceVersion: "1",
          creationTimestamp: created,
        };
        return { ...action.member, metadata, status: readyStatus };
      });
      return { ...before, sandboxes: [...sandboxes, ...fresh], made: before.made + action.count };
    }
    default: {
      const changed = action.do === "adopt" ? action.orphans : action.members;
      const owner =
        action.do === "adopt" ? { ownerReferences: [controllerReference(sandboxWarmPools, before.pool)] } : {};
      const metadata = { labels: { "agents.x-k8s.io/launch-type": "warm" }, ...owner };
      const apply = (each: Sandbox): Sandbox =>
        changed.includes(each) ? (applyMergePatch(each, { metadata }) as Sandbox) : each;
      return { ...before, sandboxes: sandboxes.map(apply) };
    }
  }
}

const population = ({ sandboxes }: State): number =>
  sandboxes.filter((each) => controllerOf(each)?.uid === "pool-uid").length;

function step(before: State): { readonly after: State; readonly decision: Decision } {
  const decision = judge(before, before.now);
  const acted = decision.actions.reduce(carryOut, before);
  const pool = decision.status === undefined ? before.pool : { ...before.pool, status: decision.status };
  // What was going is gone, and time goes on.
  const sandboxes = acted.sandboxes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { after: { ...acted, sandboxes, pool, memory: decision.memory, now: before.now + 1_000 }, decision };
}

describe("decide() for any pool", () => {
  test("returns the same decision for the same observation", () => {
    fc.assert(
      fc.property(state, (given) => {
        expect(judge(given, given.now)).toEqual(judge(given, given.now));
      }),
      { numRuns: 300 },
    );
  });

  test("never exceeds the size of the pool and never changes foreign objects (POOL-5, ABUSE-13)", () => {
    fc.assert(
      fc.property(state, (given) => {
        for (let pass = 0, current = given; pass < 8; pass++) {
          const { after } = step(current);
          const most = Math.max(current.pool.spec.replicas ?? 1, population(current));
          expect(population(after)).toBeLessThanOrEqual(most);
          const foreign = (all: State) =>
            all.sandboxes.filter(
              (each) => controllerOf(each)?.uid === "other-uid" && each.metadata.deletionTimestamp === undefined,
            );
          expect(foreign(after)).toEqual(foreign(current));
          current = after;
        }
      }),
      { numRuns: 500 },
    );
  });

  test("settles at the size of the pool when there is a template (POOL-1)", () => {
    fc.assert(
      fc.property(state, (given) => {
        let current: State = { ...given, now: epoch };
        for (let pass = 0; pass < 30; pass++) {
          const { after, decision } = step(current);
          const isQuiet =
            decision.actions.length === 0 &&
            (decision.status === undefined || semanticEqual(decision.status, current.pool.status, ["status"]));
          if (isQuiet && decision.requeueAt === undefined) break;
          current = after;
        }
        const { actions, status } = judge(current, current.now);
        expect([actions, status]).toEqual([[], undefined]);
        expect(given.template === null || population(current) === current.pool.spec.replicas).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

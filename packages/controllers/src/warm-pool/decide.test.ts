import type { Sandbox, SandboxWarmPool } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { condition, created, epoch, memberNamed, poolOf } from "../extensions.test.support.ts";
import { type Decision, decide, type PoolMemory } from "./decide.ts";
import { judge, look, moves, unready } from "./pool.test.support.ts";

const minute = 60_000;
const readyOf = ({ status }: Decision) => status?.conditions?.find(({ type }) => type === "Ready");
const orphan = (name: string, over: Parameters<typeof memberNamed>[1] = {}): Sandbox =>
  memberNamed(name, { ...over, metadata: { ...over.metadata, ownerReferences: [] } });
const reported = (status: SandboxWarmPool["status"], spec = {}) => ({ ...poolOf(spec), ...(status && { status }) });

describe("decide(): replica accounting", () => {
  test.for([
    [undefined, ["+1"]],
    [3, ["+3"]],
    [0, []],
  ] as const)("creates the members for replicas %s (POOL-1)", ([replicas, expected]) => {
    const pool = poolOf(replicas === undefined ? {} : { replicas });
    if (replicas === undefined) delete pool.spec.replicas;
    const decision = judge({ pool });
    expect(moves(decision)).toEqual(expected);
    expect(decision.status?.selector).toBe("agents.x-k8s.io/warm-pool-sandbox=91dd7983");
  });

  test("deletes a member that is not Ready first, else the newest (POOL-2)", () => {
    const later = { creationTimestamp: "2026-03-01T10:00:09Z" };
    const some = [memberNamed("a"), memberNamed("b"), memberNamed("c", { metadata: later })];
    expect(moves(judge({ sandboxes: [...some, unready("d")] }))).toEqual(["-d"]);
    expect(moves(judge({ sandboxes: [...some, memberNamed("d")] }))).toEqual(["-c"]);
  });

  test("adopts and counts a Sandbox without controller that matches the template (POOL-4)", () => {
    expect(moves(judge({ sandboxes: [orphan("a"), memberNamed("b")] }))).toEqual(["adopt a", "+1"]);
  });

  test("deletes a Sandbox without controller when the pool is full (POOL-5)", () => {
    const full = ["a", "b", "c"].map((name) => memberNamed(name));
    expect(moves(judge({ sandboxes: [...full, orphan("d")] }))).toEqual(["-d"]);
  });

  test("deletes a Sandbox without controller that has the right hash and another Pod spec (POOL-6)", () => {
    const altered = orphan("a");
    const podTemplate = { ...altered.spec.podTemplate, spec: { containers: [{ name: "c", image: "evil" }] } };
    const forged = { ...altered, spec: { ...altered.spec, podTemplate } };
    expect(moves(judge({ sandboxes: [forged] }))).toEqual(["-a", "+3"]);
  });

  test("leaves Sandboxes without controller alone while the template is missing (POOL-7)", () => {
    expect(moves(judge({ sandboxes: [orphan("a")], template: null }))).toEqual([]);
  });

  test("ignores Sandboxes of other controllers and namespaces (POOL-9)", () => {
    const other = poolOf({}, { uid: "other-uid" });
    const elsewhere = memberNamed("b", { metadata: { namespace: "elsewhere" } });
    expect(moves(judge({ sandboxes: [memberNamed("a", { pool: other }), elsewhere] }))).toEqual(["+3"]);
  });

  test.for([
    [condition("Ready", "False", "X")],
    [condition("Ready", "Unknown", "X")],
    [condition("PodScheduled", "True", "X")],
  ])("does not count a member as ready with %j (POOL-10)", ([given]) => {
    const { status } = judge({ sandboxes: [memberNamed("a", { status: { conditions: given ? [given] : [] } })] });
    expect(status).toMatchObject({ readyReplicas: 0 });
  });

  test("reports the observed generation (POOL-11)", () => {
    expect(judge({ pool: poolOf({}, { generation: 4 }) }).status?.observedGeneration).toBe(4);
  });

  test("reports counts that fall to zero as zero (POOL-12)", () => {
    const status = { replicas: 2, readyReplicas: 2, observedGeneration: 1 };
    expect(judge({ pool: reported(status, { replicas: 0 }) }).status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });

  test("creates nothing without a template, and reports it (POOL-13)", () => {
    const decision = judge({ template: null, sandboxes: [memberNamed("a")] });
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

  test("deletes a member that is not Ready after the grace, and creates none yet (POOL-14)", () => {
    expect(
      moves(judge({ sandboxes: [unready("a"), memberNamed("b"), memberNamed("c")] }, epoch + 5 * minute + 1)),
    ).toEqual(["-a"]);
  });

  test("keeps a member until the end of its grace (POOL-14)", () => {
    const sandboxes = [unready("a"), memberNamed("b"), memberNamed("c")];
    expect(moves(judge({ sandboxes }, epoch + 5 * minute))).toEqual([]);
  });

  test("counts a stuck member as one of the members to remove (POOL-3)", () => {
    const sandboxes = [unready("a"), ...["b", "c", "d"].map((name) => memberNamed(name))];
    expect(moves(judge({ sandboxes }, epoch + 6 * minute))).toEqual(["-a"]);
  });

  test("gives the whole grace to a member that stops being Ready later (POOL-15)", () => {
    const stumbled = condition("Ready", "False", "DependenciesNotReady", {
      lastTransitionTime: "2026-03-01T11:00:00Z",
    });
    const members = [memberNamed("a", { status: { conditions: [stumbled] } }), memberNamed("b"), memberNamed("c")];
    const anHour = epoch + 60 * minute;
    expect(moves(judge({ sandboxes: members }, anHour + minute))).toEqual([]);
    expect(moves(judge({ sandboxes: members }, anHour + 5 * minute + 1))).toEqual(["-a"]);
  });

  test("requeues for the end of the earliest grace, and not at all for a Ready pool (POOL-16)", () => {
    const later = { creationTimestamp: "2026-03-01T10:02:00Z" };
    const sandboxes = [unready("a"), unready("b", { metadata: later, status: {} }), memberNamed("c")];
    const { memory, requeueAt } = judge(
      { sandboxes, memory: { writes: { unreportedSince: epoch } } },
      epoch + 3 * minute,
    );
    expect([memory.checkUnreadyAt, requeueAt]).toEqual([epoch + 5 * minute + 2_000, epoch + 5 * minute + 2_000]);
    const full = judge({ sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)) });
    expect(full.requeueAt).toBeUndefined();
  });

  const unschedulable = {
    conditions: [
      condition("Ready", "False", "DependenciesNotReady"),
      condition("PodScheduled", "False", "Unschedulable"),
    ],
  };

  test("keeps an unschedulable member, with one event when it starts and one when it ends (POOL-17)", () => {
    const sandboxes = [unready("a", { status: unschedulable }), memberNamed("b"), memberNamed("c")];
    const now = epoch + 6 * minute;
    const first = judge({ sandboxes }, now);
    expect(moves(first)).toEqual([]);
    expect(first.requeueAt).toBe(now + minute);
    expect(first.events).toMatchObject([{ type: "Warning", reason: "WarmPoolNotProgressing", action: "Reconciling" }]);
    expect(readyOf(first)).toMatchObject({ status: "False", reason: "Unschedulable" });
    expect(judge({ sandboxes, memory: first.memory }, now + minute).events).toEqual([]);
    const over = judge({ sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)), memory: first.memory }, now);
    expect(over.events).toMatchObject([{ type: "Normal", reason: "WarmPoolProgressing", action: "Reconciling" }]);
    expect(over.memory.isHeldUp).toBeUndefined();
  });

  test("uses the configured grace and recheck interval (POOL-18)", () => {
    const settings = { readinessGraceMs: 10 * minute, recheckMs: 30_000 };
    const sandboxes = [unready("a", { status: unschedulable }), memberNamed("b"), memberNamed("c")];
    expect(judge({ sandboxes, settings }, epoch + 6 * minute).memory.checkUnreadyAt).toBe(epoch + 10 * minute + 2_000);
    expect(judge({ sandboxes, settings }, epoch + 11 * minute).requeueAt).toBe(epoch + 11 * minute + 30_000);
  });

  test("counts a terminating member against the size but does not report it (POOL-19)", () => {
    const pool = poolOf({ replicas: 2 });
    const sandboxes = [memberNamed("a"), memberNamed("b", { metadata: { deletionTimestamp: created } })];
    const decision = judge({ pool, sandboxes });
    expect(moves(decision)).toEqual([]);
    expect(decision.status).toMatchObject({ replicas: 1 });
  });

  test("does nothing for a pool that is being deleted (POOL-24)", () => {
    const pool = poolOf({}, { deletionTimestamp: created });
    expect(judge({ pool, sandboxes: [memberNamed("a")], memory: { refill: { lastCount: 1 } } })).toEqual({
      actions: [],
      events: [],
      memory: {},
    });
  });

  test("labels a member that lacks its launch type, and counts it meanwhile (POOL-48)", () => {
    const bare = memberNamed("a");
    const { "agents.x-k8s.io/launch-type": _, ...labels } = bare.metadata.labels ?? {};
    const sandboxes = [{ ...bare, metadata: { ...bare.metadata, labels } }, memberNamed("b"), memberNamed("c")];
    expect(moves(judge({ sandboxes }))).toEqual(["mark a"]);
  });

  test("reports what failed together with the counts (POOL-49)", () => {
    const decision = judge({ failure: "quota exceeded", sandboxes: [memberNamed("a")] });
    expect(decision.status).toMatchObject({ readyReplicas: 1 });
    expect(readyOf(decision)).toMatchObject({ reason: "ReconcilerError", message: "Error seen: quota exceeded" });
  });
});

describe("decide(): status writes", () => {
  const full = ["a", "b", "c"].map((name) => memberNamed(name));
  const settledStatus = judge({ sandboxes: full }).status;
  const settled = reported(settledStatus);

  test("does not write an unchanged status (POOL-50)", () => {
    const decision = judge({ pool: settled, sandboxes: full });
    expect([decision.status, decision.requeueAt]).toEqual([undefined, undefined]);
  });

  test("reports at once that a member was taken, together with its replacement (POOL-50, POOL-56)", () => {
    const taken = judge({ pool: settled, sandboxes: full.slice(1) });
    expect(moves(taken)).toEqual(["+1"]);
    expect(taken.status).toMatchObject({ replicas: 3, readyReplicas: 2 });
    const starting = [...full.slice(1), unready("d")];
    const pool = reported(taken.status);
    expect(judge({ pool, sandboxes: starting, memory: taken.memory }, epoch + 9_000).status).toBeUndefined();
    const replaced = judge({ pool, sandboxes: full, memory: taken.memory }, epoch + 1_000);
    expect(replaced.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
  });

  test("shows fewer replicas while a member is not replaced yet (POOL-56)", () => {
    const settings = { replenishDelayMs: 60_000 };
    const { memory } = judge({ pool: settled, sandboxes: full, settings });
    const taken = judge({ pool: settled, sandboxes: full.slice(1), settings, memory }, epoch + 1_000);
    expect([moves(taken), taken.status]).toMatchObject([[], { replicas: 2, readyReplicas: 2 }]);
  });

  /** The pool as it is after each of these counts of Ready members was observed, one every `everyMs`; and the times of the writes. */
  const write = (counts: readonly number[], everyMs: number) => {
    let pool = settled;
    let memory: PoolMemory = {};
    const writtenAt: number[] = [];
    for (const [nth, count] of counts.entries()) {
      const now = epoch + nth * everyMs;
      const sandboxes = full.map((member, at) => (at < count ? member : unready(member.metadata.name ?? "")));
      const decision = judge({ pool, sandboxes, memory }, now);
      memory = decision.memory;
      if (decision.status === undefined) continue;
      pool = reported(decision.status);
      writtenAt.push(now - epoch);
    }
    return { pool, writtenAt };
  };
  const flapping = (times: number): number[] => Array.from({ length: times }, (_, nth) => (nth % 2 === 0 ? 2 : 3));

  test("writes four changes of the counts at once and then one per second (POOL-50)", () => {
    const { writtenAt } = write(flapping(1_000), 10);
    expect(writtenAt.slice(0, 4)).toEqual([0, 10, 20, 30]);
    // Ten seconds: the burst, one that says the pool is full, and one per second.
    expect(writtenAt.length).toBeLessThanOrEqual(4 + 1 + 10);
    expect(writtenAt.length).toBeGreaterThanOrEqual(4 + 9);
  });

  test("writes the last of many changes when it is due (POOL-50)", () => {
    const counts = [2, 1, 2, 1, 2, 1, 0];
    const { pool, writtenAt } = write(counts, 10);
    expect([writtenAt, pool.status?.readyReplicas]).toEqual([[0, 10, 20, 30], 1]);
    const last = write([...counts, ...Array.from({ length: 100 }, () => 0)], 10);
    expect([last.writtenAt.length, last.pool.status?.readyReplicas]).toEqual([5, 0]);
  });

  test("reports each of two changes per two seconds, for ever (POOL-50)", () => {
    const { writtenAt } = write(flapping(100), 1_000);
    expect(writtenAt).toHaveLength(100);
  });

  test("a clock that is set back stops no report (POOL-52)", () => {
    const memory: PoolMemory = { writes: { left: 0, countedAt: epoch + 3_600_000 } };
    const decision = decide(look({ pool: settled, sandboxes: full.slice(1), memory }), memory, epoch);
    expect(decision.statusDueAt).toBe(epoch + 1_000);
  });

  test("writes at once when the pool is full, has a new generation, or lost its template (POOL-50)", () => {
    const partly = reported(judge({ sandboxes: full.slice(1) }).status);
    expect(judge({ pool: partly, sandboxes: full }).status).toMatchObject({ readyReplicas: 3 });
    const scaled = { ...settled, metadata: { ...settled.metadata, generation: 2 } };
    expect(judge({ pool: scaled, sandboxes: full }).status).toMatchObject({ observedGeneration: 2 });
    expect(judge({ pool: settled, sandboxes: full, template: null }).status?.conditions).toMatchObject([
      { type: "TemplateFound", status: "False" },
      { type: "Ready", status: "True" },
    ]);
  });
});

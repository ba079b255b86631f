import { kindOfTrouble, type Sandbox, type SandboxWarmPoolStatus, semanticEqual } from "@agent-sandbox/api";
import type { Decision as EngineDecision, EventRecord } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import type { FailedActions, Observed } from "./observe.ts";
import { memberOf } from "./prototype.ts";
import { grantRefill, type RefillMemory } from "./refill.ts";
import { desiredReplicas, errorStatus, isNewTrouble, statusOf, troubleOf } from "./status.ts";
import { statusDue, type WriteMemory } from "./status-writes.ts";
import { leastUseful, sortOrphans, sortUnready, staleMembers, type Unready } from "./upkeep.ts";

/** Performed only on the objects that the action contains, at their version: a member that was claimed since is left alone. */
export type Action =
  | { readonly do: "delete"; readonly members: readonly Sandbox[] }
  | { readonly do: "mark-warm"; readonly members: readonly Sandbox[] }
  | { readonly do: "adopt"; readonly orphans: readonly Sandbox[] }
  | { readonly do: "create"; readonly count: number; readonly member: Sandbox };

/** The memory of a pool between passes. The controller works correctly without it, for example after a restart. */
export interface PoolMemory {
  readonly refill?: RefillMemory;
  readonly writes?: WriteMemory;
  /** When to check the members that are not Ready. */
  readonly checkUnreadyAt?: number;
  /** Whether members were kept because they cannot be scheduled. */
  readonly isHeldUp?: boolean;
}

export type Decision = EngineDecision<Action, SandboxWarmPoolStatus, PoolMemory> & {
  readonly events: readonly EventRecord[];
};

export function decide(observed: Observed, memory: PoolMemory, now: number): Decision {
  // Garbage collection deletes the members with the pool.
  if (observed.pool.metadata.deletionTimestamp !== undefined) return { actions: [], events: [], memory: {} };
  try {
    return observed.failed === undefined
      ? populateAndReport(observed, memory, now)
      : reportFailure(observed, observed.failed, memory, now);
  } catch (error) {
    // A stored spec may not satisfy today's schema: its author learns what is wrong from the status.
    const status = errorStatus(observed, `Cannot understand the spec: ${errorText(error)}`, now);
    return { actions: [], events: [], memory, ...newStatus(observed, status) };
  }
}

function populateAndReport(observed: Observed, memory: PoolMemory, now: number): Decision {
  const unready = checkUnready(observed, memory, now);
  const population = populate(observed, memory, unready, now);
  const { refill, actions } = population;
  const report = reportOn(observed, memory, {
    heldUp: unready.heldUp.length,
    added: actions.reduce((sum, action) => sum + addedBy(action), 0),
    now,
  });
  const times = [population.requeueAt, report.requeueAt, unready.checkAt].filter((time) => time !== undefined);
  return {
    actions,
    events: [...eventsOn(memory, unready), ...troubleEvents(observed, report)],
    memory: {
      refill,
      writes: report.writes,
      ...(unready.checkAt === undefined ? {} : { checkUnreadyAt: unready.checkAt }),
      ...(unready.heldUp.length > 0 ? { isHeldUp: true } : {}),
    },
    ...(report.status === undefined ? {} : { status: report.status }),
    ...(report.statusDueAt === undefined ? {} : { statusDueAt: report.statusDueAt }),
    ...(times.length === 0 ? {} : { requeueAt: Math.min(...times) }),
  };
}

/** The memory counted on every create. Members that were not created must not look like members that left. */
function reportFailure(
  observed: Observed,
  { error, uncreated }: FailedActions,
  memory: PoolMemory,
  now: number,
): Decision {
  const { refill } = memory;
  const lastCount = refill?.lastCount === undefined ? {} : { lastCount: refill.lastCount - uncreated };
  const status = statusOf({ ...observed, problem: errorText(error) }, { heldUp: 0 }, now);
  return {
    actions: [],
    events: [],
    memory: { ...memory, ...(refill && { refill: { ...refill, ...lastCount } }) },
    error,
    ...newStatus(observed, status),
  };
}

function newStatus({ pool }: Observed, status: SandboxWarmPoolStatus): { status?: SandboxWarmPoolStatus } {
  return semanticEqual(pool.status, status, ["status"]) ? {} : { status };
}

type CheckedUnready = Unready & { readonly checkAt?: number };

/** Lists the members that are not Ready only when one of them may have exceeded its time, not at every change of the pool. */
function checkUnready(observed: Observed, memory: PoolMemory, now: number): CheckedUnready {
  const { members, settings } = observed;
  if (members.unready === 0) return { stuck: [], heldUp: [] };
  if (memory.isHeldUp !== true && memory.checkUnreadyAt !== undefined && now < memory.checkUnreadyAt) {
    return { stuck: [], heldUp: [], checkAt: memory.checkUnreadyAt };
  }
  const unready = sortUnready(observed, now);
  const recheckAt = unready.heldUp.length > 0 ? now + settings.recheckMs : Number.POSITIVE_INFINITY;
  const checkAt = Math.min(unready.nextAt ?? Number.POSITIVE_INFINITY, recheckAt);
  return { ...unready, checkAt: Number.isFinite(checkAt) ? checkAt : now + settings.readinessGraceMs };
}

interface Population {
  readonly actions: readonly Action[];
  readonly refill: RefillMemory;
  readonly requeueAt?: number;
}

/** A deleted member counts until it is gone, so that the pool never exceeds its size: its replacement is created after that. */
function populate(observed: Observed, memory: PoolMemory, { stuck }: Unready, now: number): Population {
  const { pool, blueprint, members, settings } = observed;
  const desired = desiredReplicas(observed);
  const room = desired - members.active - members.terminating;
  const { adoptable, surplus } = sortOrphans(observed, room);
  const leaving = new Set([...staleMembers(observed), ...stuck]);
  const excess = members.active - leaving.size - desired;
  if (excess > 0) {
    const remaining = members.listActive().filter((member) => !leaving.has(member));
    for (const member of leastUseful(remaining, excess)) leaving.add(member);
  }
  const deleted = [...leaving, ...surplus];
  const unmarked = members.listUnmarked().filter((member) => !leaving.has(member));
  const want = blueprint === undefined ? 0 : Math.max(0, room - adoptable.length);
  const count = members.active + adoptable.length;
  const wish = { count, desired, want: Math.min(want, settings.maxBatch), now };
  const { granted, nextAt, memory: refill } = grantRefill(memory.refill ?? {}, settings, wish);
  const isPartial = deleted.length > settings.maxBatch || (granted === settings.maxBatch && want > granted);
  const requeueAt = isPartial ? now : nextAt;
  const actions = [
    { do: "delete", members: deleted.slice(0, settings.maxBatch) } as const,
    { do: "mark-warm", members: unmarked } as const,
    { do: "adopt", orphans: adoptable } as const,
    ...(blueprint === undefined || granted === 0
      ? []
      : [{ do: "create", count: granted, member: memberOf(pool, blueprint, settings) } as const]),
  ];
  return { actions: actions.filter(isWork), refill, ...(requeueAt === undefined ? {} : { requeueAt }) };
}

function isWork(action: Action): boolean {
  switch (action.do) {
    case "create":
      return action.count > 0;
    case "adopt":
      return action.orphans.length > 0;
    default:
      return action.members.length > 0;
  }
}

interface Report {
  readonly status?: SandboxWarmPoolStatus;
  readonly statusDueAt?: number;
  readonly writes: WriteMemory;
  readonly requeueAt?: number;
}

/** A member that never makes progress causes no event. So the pool is reconciled again some time after it has added members. */
function reportOn(
  observed: Observed,
  memory: PoolMemory,
  { heldUp, added, now }: { heldUp: number; added: number; now: number },
): Report {
  const status = statusOf(observed, { heldUp, added }, now);
  const { at, memory: writes } = statusDue(observed, memory.writes ?? {}, status, now);
  const later = added > 0 ? { requeueAt: now + observed.settings.statusLagMs } : {};
  if (at === undefined) return { writes, ...later };
  return { status, writes, ...(at > now && { statusDueAt: at }), ...later };
}

function addedBy(action: Action): number {
  if (action.do === "create") return action.count;
  return action.do === "adopt" ? action.orphans.length : 0;
}

/** Members that cannot be scheduled have events of their own: a cluster may take minutes to add a node. */
function troubleEvents({ pool }: Observed, { status, statusDueAt }: Report): readonly EventRecord[] {
  if (status === undefined || statusDueAt !== undefined || !isNewTrouble(pool.status, status)) return [];
  const text = troubleOf(status) ?? "";
  if (kindOfTrouble(text) === "scheduling") return [];
  return [{ type: "Warning", reason: "WarmPoolNotProgressing", action: "Reconciling", text }];
}

function eventsOn(memory: PoolMemory, { heldUp }: Unready): readonly EventRecord[] {
  const was = memory.isHeldUp === true;
  const is = heldUp.length > 0;
  if (was === is) return [];
  const action = "Reconciling";
  if (!is) return [{ type: "Normal", reason: "WarmPoolProgressing", action, text: "Members can be scheduled again" }];
  const text = `${heldUp.length} members cannot be scheduled`;
  return [{ type: "Warning", reason: "WarmPoolNotProgressing", action, text }];
}

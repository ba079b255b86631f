import { type Sandbox, type SandboxWarmPoolStatus, semanticEqual } from "@agent-sandbox/api";
import type { Note } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import type { Observed, PoolMemory } from "./observe.ts";
import { memberOf } from "./prototype.ts";
import { grantRefill, type RefillMemory } from "./refill.ts";
import { desiredReplicas, misunderstoodStatus, reportingTime, statusOf } from "./status.ts";
import { leastUseful, sortOrphans, sortUnready, staleMembers, type Unready } from "./upkeep.ts";

/** Each is held to the very objects it names, at the version they were seen: one that was claimed since is not touched. */
export type Action =
  | { readonly do: "delete"; readonly members: readonly Sandbox[] }
  | { readonly do: "mark-warm"; readonly members: readonly Sandbox[] }
  | { readonly do: "adopt"; readonly orphans: readonly Sandbox[] }
  | { readonly do: "create"; readonly count: number; readonly member: Sandbox };

export interface Decision {
  readonly actions: readonly Action[];
  /** Undefined: leave the status as it is. */
  readonly status?: SandboxWarmPoolStatus;
  readonly notes: readonly Note[];
  readonly memory: PoolMemory;
  /** When to look again even if nothing changes. */
  readonly wakeAt?: number;
}

/** What to do about one pool now. Pure: the same observation at the same time gives the same answer. */
export function decide(seen: Observed, now: number): Decision {
  // Members go with the pool by garbage collection.
  if (seen.pool.metadata.deletionTimestamp !== undefined) return { actions: [], notes: [], memory: {} };
  try {
    return understoodDecision(seen, now);
  } catch (error) {
    // Total: a spec that no schema would let through is told to whoever wrote it, like any other mistake.
    const status = misunderstoodStatus(seen, `Cannot understand the spec: ${errorText(error)}`, now);
    const isNews = !semanticEqual(seen.pool.status, status, ["status"]);
    return { actions: [], notes: [], memory: seen.memory, ...(isNews && { status }) };
  }
}

function understoodDecision(seen: Observed, now: number): Decision {
  const unready = lookAtUnready(seen, now);
  const population = populate(seen, unready, now);
  const { refill, actions } = population;
  const report = reportOn(seen, { heldUp: unready.heldUp.length, isGrowing: actions.some(addsMembers) }, now);
  const memory: PoolMemory = {
    refill,
    ...(report.since === undefined ? {} : { unreportedSince: report.since }),
    ...(unready.checkAt === undefined ? {} : { checkUnreadyAt: unready.checkAt }),
    ...(unready.heldUp.length > 0 ? { isHeldUp: true } : {}),
  };
  const wakes = [population.wakeAt, report.wakeAt, unready.checkAt].filter((time) => time !== undefined);
  return {
    actions,
    notes: notesOn(seen, unready),
    memory,
    ...(report.status === undefined ? {} : { status: report.status }),
    ...(wakes.length === 0 ? {} : { wakeAt: Math.min(...wakes) }),
  };
}

type Looked = Unready & { readonly checkAt?: number };

/** Looks at each member that is not Ready only when the time of one may be over, not at every change of the pool. */
function lookAtUnready(seen: Observed, now: number): Looked {
  const { members, memory, settings } = seen;
  if (members.unready === 0) return { stuck: [], heldUp: [] };
  if (memory.isHeldUp !== true && memory.checkUnreadyAt !== undefined && now < memory.checkUnreadyAt) {
    return { stuck: [], heldUp: [], checkAt: memory.checkUnreadyAt };
  }
  const unready = sortUnready(seen, now);
  const recheckAt = unready.heldUp.length > 0 ? now + settings.recheckMs : Number.POSITIVE_INFINITY;
  const checkAt = Math.min(unready.nextAt ?? Number.POSITIVE_INFINITY, recheckAt);
  return { ...unready, checkAt: Number.isFinite(checkAt) ? checkAt : now + settings.readinessGraceMs };
}

interface Population {
  readonly actions: readonly Action[];
  readonly refill: RefillMemory;
  readonly wakeAt?: number;
}

/** What is deleted now is counted until it is gone: a replacement comes after, never beside. */
function populate(seen: Observed, { stuck }: Unready, now: number): Population {
  const { pool, blueprint, members, settings } = seen;
  const desired = desiredReplicas(seen);
  const room = desired - members.active - members.terminating;
  const { welcome, unwelcome } = sortOrphans(seen, room);
  const leaving = new Set([...staleMembers(seen), ...stuck]);
  const excess = members.active - leaving.size - desired;
  if (excess > 0) {
    const remaining = members.listActive().filter((member) => !leaving.has(member));
    for (const member of leastUseful(remaining, excess)) leaving.add(member);
  }
  const doomed = [...leaving, ...unwelcome];
  const unmarked = members.listUnmarked().filter((member) => !leaving.has(member));
  const want = blueprint === undefined ? 0 : Math.max(0, room - welcome.length);
  const count = members.active + welcome.length;
  const wish = { count, desired, want: Math.min(want, settings.maxBatch), now };
  const { granted, nextAt, memory: refill } = grantRefill(seen.memory.refill ?? {}, settings, wish);
  const goesOn = doomed.length > settings.maxBatch || (granted === settings.maxBatch && want > granted);
  const wakeAt = goesOn ? now : nextAt;
  const actions = [
    { do: "delete", members: doomed.slice(0, settings.maxBatch) } as const,
    { do: "mark-warm", members: unmarked } as const,
    { do: "adopt", orphans: welcome } as const,
    ...(blueprint === undefined || granted === 0
      ? []
      : [{ do: "create", count: granted, member: memberOf(pool, blueprint, settings) } as const]),
  ];
  return { actions: actions.filter(isWork), refill, ...(wakeAt === undefined ? {} : { wakeAt }) };
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
  /** Since when the status is out of date and not yet written. */
  readonly since?: number;
  readonly wakeAt?: number;
}

/**
 * What this pass adds is not counted yet, and nothing tells of a member that never gets any further: it is looked at when the
 * counts are due, and so comes to be waited for.
 */
function reportOn(seen: Observed, { heldUp, isGrowing }: { heldUp: number; isGrowing: boolean }, now: number): Report {
  const status = statusOf(seen, { heldUp }, now);
  const dueAt = reportingTime(seen, status, now);
  const isDue = dueAt !== undefined && dueAt <= now;
  const later: Report = { since: now, wakeAt: now + seen.settings.statusLagMs };
  if (isDue) return { status, ...(isGrowing && later) };
  if (dueAt === undefined) return isGrowing ? later : {};
  return { since: seen.memory.unreportedSince ?? now, wakeAt: dueAt };
}

function addsMembers(action: Action): boolean {
  return action.do === "create" || action.do === "adopt";
}

function notesOn({ memory }: Observed, { heldUp }: Unready): readonly Note[] {
  const was = memory.isHeldUp === true;
  const is = heldUp.length > 0;
  if (was === is) return [];
  const action = "Reconciling";
  return is
    ? [
        {
          type: "Warning",
          reason: "WarmPoolNotProgressing",
          action,
          text: `${heldUp.length} members cannot be scheduled`,
        },
      ]
    : [{ type: "Normal", reason: "WarmPoolProgressing", action, text: "Members can be scheduled again" }];
}

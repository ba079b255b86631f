import { findCondition, parseTime, type Sandbox } from "@agent-sandbox/api";
import { isReady } from "./members.ts";
import type { Observed } from "./observe.ts";
import { isStale, templateRefHashOf } from "./staleness.ts";

/** Members of a pool that rolls at once, made from something else than the template of today. */
export function staleMembers({ pool, blueprint, members }: Observed): readonly Sandbox[] {
  if (blueprint === undefined || pool.spec.updateStrategy?.type !== "Recreate") return [];
  if (members.madeFrom(templateRefHashOf(blueprint), blueprint.hash) === members.active) return [];
  return members.listActive().filter((member) => isStale(member, blueprint));
}

export interface Orphans {
  readonly welcome: readonly Sandbox[];
  readonly unwelcome: readonly Sandbox[];
}

/**
 * Sandboxes that carry the pool's label and belong to nobody. Only those that are exactly what the template makes join, and
 * only while there is room; the rest go. Without a template nobody can tell, and they are left alone.
 */
export function sortOrphans({ blueprint, members }: Observed, room: number): Orphans {
  if (blueprint === undefined) return { welcome: [], unwelcome: [] };
  const orphans = members.listOrphans();
  const fitting = orphans.filter((orphan) => !isStale(orphan, blueprint));
  const welcome = new Set(fitting.slice(0, Math.max(0, room)));
  return { welcome: [...welcome], unwelcome: orphans.filter((orphan) => !welcome.has(orphan)) };
}

export interface Unready {
  /** To be replaced. */
  readonly stuck: readonly Sandbox[];
  /** Past their time, but no node has room for them: a replacement would fare no better. */
  readonly heldUp: readonly Sandbox[];
  /** When the next one's time is over. */
  readonly nextAt?: number;
}

/** Timestamps have a resolution of one second, and the two clocks may differ a little. */
const marginMs = 2_000;

export function sortUnready({ members, settings }: Observed, now: number): Unready {
  const stuck: Sandbox[] = [];
  const heldUp: Sandbox[] = [];
  let nextAt = Number.POSITIVE_INFINITY;
  for (const member of members.listUnready()) {
    const since = unreadySince(member);
    if (since === undefined) continue;
    if (now - since <= settings.readinessGraceMs)
      nextAt = Math.min(nextAt, since + settings.readinessGraceMs + marginMs);
    else if (isUnschedulable(member)) heldUp.push(member);
    else stuck.push(member);
  }
  return { stuck, heldUp, ...(Number.isFinite(nextAt) ? { nextAt } : {}) };
}

/**
 * When a member last stopped being Ready, or was made: one that served for a day and stumbles gets the whole grace, as a
 * new one does.
 */
function unreadySince(member: Sandbox): number | undefined {
  const times = [
    member.metadata.creationTimestamp,
    findCondition(member.status?.conditions, "Ready")?.lastTransitionTime,
  ];
  const known = times.map((time) => parseTime(time ?? "")).filter((time) => "epochMs" in time);
  return known.length === 0 ? undefined : Math.max(...known.map(({ epochMs }) => epochMs));
}

/** The Sandbox shows the condition of its Pod. */
function isUnschedulable(member: Sandbox): boolean {
  const scheduled = findCondition(member.status?.conditions, "PodScheduled");
  return scheduled?.status === "False" && scheduled.reason === "Unschedulable";
}

/** The members to part with first: those that are not Ready, then the newest. */
export function leastUseful(members: readonly Sandbox[], count: number): readonly Sandbox[] {
  const rank = (member: Sandbox): number => (isReady(member) ? 1 : 0);
  const madeAt = ({ metadata }: Sandbox): string => metadata.creationTimestamp ?? "";
  return members
    .toSorted((a, b) => rank(a) - rank(b) || (madeAt(a) < madeAt(b) ? 1 : madeAt(a) > madeAt(b) ? -1 : 0))
    .slice(0, count);
}

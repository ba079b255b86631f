import { findCondition, parseTime, type Sandbox } from "@agent-sandbox/api";
import { isReady } from "./members.ts";
import type { Observed } from "./observe.ts";
import { isStale, templateRefHashOf } from "./staleness.ts";

/** The outdated members of a pool with strategy Recreate. */
export function staleMembers(observed: Observed): readonly Sandbox[] {
  return observed.pool.spec.updateStrategy?.type === "Recreate" ? outdatedMembers(observed) : [];
}

/** Members that the template of today would not create. They are not listed if all have the template's hash. */
export function outdatedMembers({ blueprint, members, snapshotUid }: Observed): readonly Sandbox[] {
  if (blueprint === undefined) return [];
  const isUniform = members.madeFrom(templateRefHashOf(blueprint), blueprint.hash) === members.active;
  if (isUniform && snapshotUid === undefined) return [];
  return members.listActive().filter((member) => isStale(member, blueprint, snapshotUid));
}

export interface Orphans {
  readonly adoptable: readonly Sandbox[];
  /** To be deleted. */
  readonly surplus: readonly Sandbox[];
}

/**
 * Sandboxes that carry the pool's label and have no controller. The pool adopts those that match the template while it has
 * room, and deletes the others. Without a template nothing can be compared, and all are left alone.
 */
export function sortOrphans({ blueprint, members, snapshotUid }: Observed, room: number): Orphans {
  if (blueprint === undefined) return { adoptable: [], surplus: [] };
  const orphans = members.listOrphans();
  const fitting = orphans.filter((orphan) => !isStale(orphan, blueprint, snapshotUid));
  const adoptable = new Set(fitting.slice(0, Math.max(0, room)));
  return { adoptable: [...adoptable], surplus: orphans.filter((orphan) => !adoptable.has(orphan)) };
}

export interface Unready {
  /** Not Ready for longer than the grace period: to be replaced. */
  readonly stuck: readonly Sandbox[];
  /** The same, but no node has room for them, and would have none for a replacement. */
  readonly heldUp: readonly Sandbox[];
  /** When the next member's grace period ends. */
  readonly nextAt?: number;
}

/** Timestamps have a resolution of one second, and the clocks of this machine and the server may differ a little. */
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

/** When a member stopped being Ready, or was created: a member that was Ready before gets the whole grace period again. */
function unreadySince(member: Sandbox): number | undefined {
  const times = [
    member.metadata.creationTimestamp,
    findCondition(member.status?.conditions, "Ready")?.lastTransitionTime,
  ];
  const known = times.map((time) => parseTime(time ?? "")).filter((time) => "epochMs" in time);
  return known.length === 0 ? undefined : Math.max(...known.map(({ epochMs }) => epochMs));
}

/** A Sandbox repeats the PodScheduled condition of its Pod. */
function isUnschedulable(member: Sandbox): boolean {
  const scheduled = findCondition(member.status?.conditions, "PodScheduled");
  return scheduled?.status === "False" && scheduled.reason === "Unschedulable";
}

/** The members to delete first: those that are not Ready, then the newest. */
export function leastUseful(members: readonly Sandbox[], count: number): readonly Sandbox[] {
  const rank = (member: Sandbox): number => (isReady(member) ? 1 : 0);
  const madeAt = ({ metadata }: Sandbox): string => metadata.creationTimestamp ?? "";
  return members
    .toSorted((a, b) => rank(a) - rank(b) || (madeAt(a) < madeAt(b) ? 1 : madeAt(a) > madeAt(b) ? -1 : 0))
    .slice(0, count);
}

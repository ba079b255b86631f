import { findCondition, type SandboxWarmPoolStatus, semanticEqual } from "@agent-sandbox/api";
import type { Observed } from "./observe.ts";
import type { PoolSettings } from "./settings.ts";
import { isNewTrouble } from "./status.ts";

/** The memory of status writes. If it is lost, the next changes are written at once. */
export interface WriteMemory {
  /** Since when the status is out of date. */
  readonly unreportedSince?: number;
  /** How many changes of the counts may be written at once, at the time `countedAt`. */
  readonly left?: number;
  readonly countedAt?: number;
}

export interface Due {
  /** When the status is to be written; undefined when it has not changed. */
  readonly at: number | undefined;
  readonly memory: WriteMemory;
}

/**
 * When a new status is written. What is not a count is written at once. Counts that people and autoscalers watch are written at once
 * as well, but a burst of changes is combined: `burst` writes, then one per `statusIntervalMs`. Other changes wait longer for a write
 * that they can share.
 */
export function statusDue(
  { pool, settings }: Observed,
  memory: WriteMemory,
  status: SandboxWarmPoolStatus,
  now: number,
): Due {
  const before = pool.status;
  const { unreportedSince, ...kept } = memory;
  if (semanticEqual(before, status, ["status"])) return { at: undefined, memory: kept };
  if (isUrgent(before, status)) return { at: now, memory: kept };
  const since = { unreportedSince: unreportedSince ?? now };
  if (!changesCounts(before, status)) {
    // The minimum: the wait must not get longer when the clock is set back.
    const at = Math.min(since.unreportedSince, now) + settings.statusLagMs;
    return { at, memory: at <= now ? kept : { ...kept, ...since } };
  }
  const left = tokensAt(memory, settings, now);
  // A pool that becomes full may exceed the limit by one write, so that a change and its end do not wait for each other.
  const isFull = status.readyReplicas === (pool.spec.replicas ?? 1) && status.replicas === status.readyReplicas;
  const missing = Math.max(0, (isFull ? 0 : 1) - left);
  if (missing > 0) {
    return { at: now + Math.ceil(missing * settings.statusIntervalMs), memory: { ...since, left, countedAt: now } };
  }
  return { at: now, memory: { left: left - 1, countedAt: now } };
}

function tokensAt(
  { left, countedAt }: WriteMemory,
  { statusBurst, statusIntervalMs }: PoolSettings,
  now: number,
): number {
  if (left === undefined || countedAt === undefined) return statusBurst;
  return Math.min(statusBurst, left + Math.max(0, now - countedAt) / statusIntervalMs);
}

function isUrgent(before: SandboxWarmPoolStatus | undefined, after: SandboxWarmPoolStatus): boolean {
  return (
    before?.conditions === undefined ||
    before.observedGeneration !== after.observedGeneration ||
    before.selector !== after.selector ||
    statusOfType(before, "TemplateFound") !== statusOfType(after, "TemplateFound") ||
    isNewTrouble(before, after) ||
    isError(after)
  );
}

/** That replacements exist which are not Ready yet is no change that anybody waits for. */
function changesCounts(before: SandboxWarmPoolStatus | undefined, after: SandboxWarmPoolStatus): boolean {
  return (
    (before?.readyReplicas ?? 0) !== (after.readyReplicas ?? 0) ||
    (before?.replicas ?? 0) > (after.replicas ?? 0) ||
    statusOfType(before ?? {}, "Ready") !== statusOfType(after, "Ready")
  );
}

function statusOfType({ conditions }: SandboxWarmPoolStatus, type: string): string | undefined {
  return findCondition(conditions, type)?.status;
}

function isError({ conditions }: SandboxWarmPoolStatus): boolean {
  return ["ReconcilerError", "Unschedulable"].includes(findCondition(conditions, "Ready")?.reason ?? "");
}

import type { RefillLimits } from "./refill.ts";

export interface PoolSettings extends RefillLimits {
  /** How long a member may be not Ready before it is replaced. */
  readonly readinessGraceMs: number;
  /** How often a pool whose members cannot be scheduled is checked. */
  readonly recheckMs: number;
  /** The most members created, or deleted, in one pass. */
  readonly maxBatch: number;
  /** Whether the cluster autoscaler may evict unclaimed members. */
  readonly markEvictable: boolean;
  /** How long the counts in the status may be out of date while a pool is refilled. */
  readonly statusLagMs: number;
}

export const defaultPoolSettings: PoolSettings = {
  readinessGraceMs: 300_000,
  recheckMs: 60_000,
  maxBatch: 300,
  markEvictable: true,
  replenishDelayMs: 0,
  refillPauseMs: 0,
  maxPerSecond: 0,
  // A member that is claimed and replaced within this time costs no status write.
  statusLagMs: 5_000,
};

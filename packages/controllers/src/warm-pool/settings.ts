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
  /** How long changes of the status may wait that nobody waits for. */
  readonly statusLagMs: number;
  /** How many changes of the counts are written to the status at once before further ones are combined. */
  readonly statusBurst: number;
  /** How often the counts are written to the status after that. */
  readonly statusIntervalMs: number;
}

export const defaultPoolSettings: PoolSettings = {
  readinessGraceMs: 300_000,
  recheckMs: 60_000,
  maxBatch: 300,
  markEvictable: true,
  replenishDelayMs: 0,
  refillPauseMs: 0,
  maxPerSecond: 0,
  statusLagMs: 5_000,
  // Two claims, each of which takes a member that is replaced.
  statusBurst: 4,
  statusIntervalMs: 1_000,
};

import type { Sandbox, SandboxTemplate, SandboxWarmPool } from "@agent-sandbox/api";
import { type Index, type Informer, keyOf } from "@agent-sandbox/kube";
import { type Blueprint, understand } from "../template/blueprint.ts";
import { type Members, membersOf } from "./members.ts";
import type { RefillLimits, RefillMemory } from "./refill.ts";

export interface PoolSettings extends RefillLimits {
  /** How long a member may be not Ready before it is replaced. */
  readonly readinessGraceMs: number;
  /** How often a pool whose members cannot be scheduled is looked at. */
  readonly recheckMs: number;
  /** The most members made, or deleted, in one pass. */
  readonly maxBatch: number;
  /** Whether the cluster autoscaler may evict unclaimed members. */
  readonly markEvictable: boolean;
  /** How far the counts in the status may lag behind while a pool is being refilled. */
  readonly statusLagMs: number;
}

export const defaultPoolSettings: PoolSettings = {
  readinessGraceMs: 300_000,
  recheckMs: 60_000,
  maxBatch: 300,
  markEvictable: true,
  replenishDelayMs: 0,
  maxPerSecond: 0,
  // A member that is claimed and replaced within this costs no write of the status.
  statusLagMs: 5_000,
};

/** What is remembered of a pool between passes. All of it can be lost. */
export interface PoolMemory {
  readonly refill?: RefillMemory;
  /** Since when the status is out of date. */
  readonly unreportedSince?: number;
  /** When members that are not Ready are to be looked at again. */
  readonly checkUnreadyAt?: number;
  /** Whether members were kept because they cannot be scheduled. */
  readonly isHeldUp?: boolean;
}

/** What the controller knows when it looks at one pool: plain data from caches. */
export interface Observed {
  readonly pool: SandboxWarmPool;
  /** Absent when the template does not exist. */
  readonly blueprint: Blueprint | undefined;
  readonly members: Members;
  readonly settings: PoolSettings;
  readonly memory: PoolMemory;
  /** What went wrong when the template was read, or when the decided actions were carried out. */
  readonly failure?: string;
}

/** Gathers what is known of a pool. */
export function observe(
  pool: SandboxWarmPool,
  caches: { readonly templates: Informer<SandboxTemplate>; readonly members: Index<Sandbox> },
  known: Pick<Observed, "settings" | "memory">,
): Observed {
  const { namespace = "" } = pool.metadata;
  const template = caches.templates.get(keyOf({ namespace, name: pool.spec?.sandboxTemplateRef?.name ?? "" }));
  const read: { blueprint?: Blueprint; problem?: string } = template === undefined ? {} : understand(template);
  return {
    pool,
    blueprint: read.blueprint,
    members: membersOf(caches.members, pool),
    ...known,
    ...(read.problem !== undefined && { failure: read.problem }),
  };
}

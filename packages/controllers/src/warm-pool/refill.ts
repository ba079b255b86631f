/** How fast a pool is refilled. Zero: no limit. */
export interface RefillLimits {
  /** How long to wait after members left before they are replaced. */
  readonly replenishDelayMs: number;
  /**
   * How long to wait after the first member left. Unlike the delay, it does not begin again when more leave. The start of a member
   * would compete for the processor with the first commands in the sandbox that was just claimed.
   */
  readonly refillPauseMs: number;
  readonly maxPerSecond: number;
}

/** The memory of refilling a pool between passes. If it is lost, the pool is refilled sooner. */
export interface RefillMemory {
  /** Members after the last pass. Absent before the first pass: the initial fill does not wait. */
  readonly lastCount?: number;
  readonly holdUntil?: number;
  readonly pauseUntil?: number;
  readonly tokens?: number;
  /** The time that `tokens` refers to. */
  readonly countedAt?: number;
}

export interface Grant {
  /** How many may be created now. */
  readonly granted: number;
  /** When more may be created. */
  readonly nextAt?: number;
  readonly memory: RefillMemory;
}

export interface RefillWish {
  readonly count: number;
  readonly desired: number;
  readonly want: number;
  readonly now: number;
}

/** How many of the wanted members may be created now. While the delay or the pause lasts, none may, and no token is taken. */
export function grantRefill(memory: RefillMemory, limits: RefillLimits, wish: RefillWish): Grant {
  const { count, desired, want, now } = wish;
  const { holdUntil: _, pauseUntil: __, ...kept } = memory;
  const holdUntil = holdOf(memory, limits, wish);
  const pauseUntil = pauseOf(memory, limits, wish);
  const next = { ...kept, lastCount: count, ...(holdUntil === undefined ? {} : { holdUntil }) };
  const paused = pauseUntil === undefined ? next : { ...next, pauseUntil };
  if (want <= 0 || count >= desired) return { granted: 0, memory: paused };
  const startAt = Math.max(holdUntil ?? now, pauseUntil ?? now);
  if (startAt > now) return { granted: 0, nextAt: startAt, memory: paused };
  return takeTokens(next, limits.maxPerSecond, wish);
}

function pauseOf(
  { lastCount, pauseUntil }: RefillMemory,
  { refillPauseMs }: RefillLimits,
  { count, desired, now }: RefillWish,
): number | undefined {
  if (refillPauseMs <= 0 || count >= desired || lastCount === undefined) return undefined;
  const latest = now + refillPauseMs;
  if (pauseUntil !== undefined) return Math.min(pauseUntil, latest);
  return count < lastCount ? latest : undefined;
}

function holdOf(
  { lastCount, holdUntil }: RefillMemory,
  { replenishDelayMs }: RefillLimits,
  { count, desired, now }: RefillWish,
): number | undefined {
  if (replenishDelayMs <= 0 || count >= desired || lastCount === undefined) return undefined;
  const latest = now + replenishDelayMs;
  if (count < lastCount) return latest;
  // The minimum: the delay must not get longer when the clock is set back.
  return holdUntil === undefined ? undefined : Math.min(holdUntil, latest);
}

/** A token bucket that starts full and holds the tokens of one second, at least one. */
function takeTokens(memory: RefillMemory, perSecond: number, { count, want, now }: RefillWish): Grant {
  if (perSecond <= 0) return { granted: want, memory: { ...memory, lastCount: count + want } };
  const capacity = Math.max(1, perSecond);
  const { tokens: left = capacity, countedAt = now } = memory;
  const tokens = Math.min(capacity, left + (Math.max(0, now - countedAt) / 1000) * perSecond);
  const granted = Math.min(want, Math.floor(tokens));
  const rest = tokens - granted;
  const nextAt = granted < want ? now + Math.ceil(((1 - Math.min(1, rest)) / perSecond) * 1000) : undefined;
  return {
    granted,
    ...(nextAt === undefined ? {} : { nextAt }),
    memory: { ...memory, lastCount: count + granted, tokens: rest, countedAt: now },
  };
}

import type { Container } from "@agent-sandbox/api";
import type { ContainerRecord } from "./record.ts";

/**
 * A container without probes counts as ready after it has run for half as long as its runtime took to create it, so that a command
 * which exits at once is not reported as ready. A fixed time would be too short on a busy machine, or too long on others: under gVisor
 * a container takes about 150 ms to create, and `false` then about 30 ms to exit. The kubelet looks once a second.
 */
const shareOfCreation = 0.5;
const [leastMs, mostMs] = [50, 1000];

/**
 * When a running container counts as ready, if it has no probe that decides this. A restored container keeps the start time of its
 * saved run and is ready at once.
 */
export function settledAt({ readinessProbe, startupProbe }: Container, kept: ContainerRecord | undefined): number {
  const hasProbe = readinessProbe !== undefined || startupProbe !== undefined;
  if (hasProbe || kept?.run === undefined) return 0;
  const settlingMs = (kept.run.createMs ?? 0) * shareOfCreation;
  return kept.run.startedAt + Math.min(Math.max(settlingMs, leastMs), mostMs);
}

/** Also true if the clock was set back, so that the wait never gets longer. */
export function hasSettled(container: Container, kept: ContainerRecord | undefined, now: number): boolean {
  return now >= settledAt(container, kept) || now < (kept?.run?.startedAt ?? 0);
}

import { type Condition, findCondition, type Lifecycle, parseTime, type SandboxClaim } from "@agent-sandbox/api";

/** When a claim ends: at its shutdown time, or so long after its Sandbox finished, whichever is earlier. */
export function expiryOf(
  lifecycle: Lifecycle | undefined,
  conditions: readonly Condition[] | undefined,
): number | undefined {
  const { shutdownTime, ttlSecondsAfterFinished: ttl } = lifecycle ?? {};
  const finished = findCondition(conditions, "Finished");
  const finishedAt = finished?.status === "True" ? timeOf(finished.lastTransitionTime) : undefined;
  const ends = [
    timeOf(shutdownTime),
    ttl === undefined || finishedAt === undefined ? undefined : finishedAt + ttl * 1000,
  ];
  const known = ends.filter((end) => end !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Whether it is the hour written on the claim that ends it now, and nobody has told yet. */
export function seemsOver({ metadata, spec, status }: SandboxClaim, now: number): boolean {
  if (metadata.deletionTimestamp !== undefined || isMarkedExpired(status?.conditions)) return false;
  const end = timeOf(spec?.lifecycle?.shutdownTime);
  return end !== undefined && end <= now;
}

/** Whether the end of the claim has been told: only then is anything torn down. */
export function isMarkedExpired(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, "Ready")?.reason === "ClaimExpired";
}

/** What is no time counts as none. */
function timeOf(text: unknown): number | undefined {
  const time = parseTime(typeof text === "string" ? text : "");
  return "error" in time ? undefined : time.epochMs;
}

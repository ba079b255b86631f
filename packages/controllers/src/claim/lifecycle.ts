import { type Condition, findCondition, type Lifecycle, parseTime, type SandboxClaim } from "@agent-sandbox/api";

/** When a claim expires: at its shutdown time, or when its TTL after the Sandbox finished is over, whichever is earlier. */
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

/** Whether the shutdown time has passed by this machine's clock, and the status does not say so yet. */
export function seemsExpired({ metadata, spec, status }: SandboxClaim, now: number): boolean {
  if (metadata.deletionTimestamp !== undefined || isMarkedExpired(status?.conditions)) return false;
  const end = timeOf(spec?.lifecycle?.shutdownTime);
  return end !== undefined && end <= now;
}

/** Whether the status says that the claim has expired. Nothing is deleted before that. */
export function isMarkedExpired(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, "Ready")?.reason === "ClaimExpired";
}

/** An invalid time counts as absent. */
function timeOf(text: unknown): number | undefined {
  const time = parseTime(typeof text === "string" ? text : "");
  return "error" in time ? undefined : time.epochMs;
}

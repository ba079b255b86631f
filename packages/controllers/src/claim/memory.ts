import { claimFirstReadyAtAnnotation, findCondition, isConditionTrue, type SandboxClaim } from "@agent-sandbox/api";
import type { Scheduler } from "@agent-sandbox/kube";

/** The memory of a claim between passes. If it is lost with the process, the time to start the claim is not measured. */
export interface ClaimMemory {
  /** When this process first observed the claim: as a date, and by a clock that never jumps. */
  readonly firstObservedAt: number;
  readonly firstObservedUptimeMs: number;
  /** Whether the time until the claim is first Ready can still be measured. */
  readonly isMeasurable: boolean;
  /** How often in a row the reserved member changed before it could be adopted. */
  readonly conflicts: number;
  /** Whether the last decision found no Sandbox. A Sandbox that appears later counts as served, also when an answer was lost. */
  readonly isUnserved?: boolean;
  /** When this process saw the claim become Ready. */
  readonly firstReadyAt?: number;
  /** Since when only the message of the Ready condition is out of date. */
  readonly unreportedSince?: number;
}

/** A claim that was Ready before, or may have been, is not measured again. */
export function initialMemory(claim: SandboxClaim | undefined, clock: Pick<Scheduler, "now" | "date">): ClaimMemory {
  const isMeasurable =
    findCondition(claim?.status?.conditions, "Ready") === undefined &&
    claim?.metadata.annotations?.[claimFirstReadyAtAnnotation] === undefined;
  return { firstObservedAt: clock.date(), firstObservedUptimeMs: clock.now(), isMeasurable, conflicts: 0 };
}

export function isClaimReady({ status }: Pick<SandboxClaim, "status">): boolean {
  return isConditionTrue(status?.conditions, "Ready");
}

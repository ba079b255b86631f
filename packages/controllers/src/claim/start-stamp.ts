import {
  claimFirstReadyAtAnnotation,
  controllerFirstObservedAtAnnotation,
  formatNanoTime,
  type SandboxClaim,
} from "@agent-sandbox/api";
import { type ClaimMemory, isClaimReady } from "./memory.ts";

/** The annotations that say when a Ready claim was first observed and first Ready; undefined when they are not due or present. */
export function startStamp(claim: SandboxClaim, memory: ClaimMemory): Record<string, string> | undefined {
  const { annotations = {} } = claim.metadata;
  if (!isClaimReady(claim) || annotations[claimFirstReadyAtAnnotation] !== undefined) return undefined;
  const { firstObservedAt, firstReadyAt } = memory;
  return {
    [controllerFirstObservedAtAnnotation]:
      annotations[controllerFirstObservedAtAnnotation] ?? formatNanoTime(BigInt(firstObservedAt) * 1_000_000n),
    [claimFirstReadyAtAnnotation]:
      firstReadyAt === undefined ? "unknown" : formatNanoTime(BigInt(firstReadyAt) * 1_000_000n),
  };
}

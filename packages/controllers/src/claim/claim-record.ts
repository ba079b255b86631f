import {
  claimFirstReadyAtAnnotation,
  controllerFirstObservedAtAnnotation,
  formatMicroTime,
  launchTypeLabel,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimStatus,
  sandboxNameAnnotation,
  traceContextAnnotation,
} from "@agent-sandbox/api";
import { isReady } from "../warm-pool/members.ts";
import type { Action } from "./decision.ts";
import { type ClaimMemory, isClaimReady } from "./memory.ts";
import type { Observed } from "./observe.ts";
import { referenceChange } from "./reference.ts";

type Annotations = Readonly<Record<string, string | null>>;

/**
 * The annotations with which a claim records how it was served: the pool member that it got, and when it was first observed and
 * first Ready. Users and other controllers read them. The record is complete no later than the status that makes the claim Ready
 * (ADR 52). This controller itself relies on the owner reference of the Sandbox only.
 */
export function recordOfAdoption(
  { claim, settings, unrecordedTrace }: Observed,
  member: Sandbox,
  { memory, now }: { readonly memory: ClaimMemory; readonly now: number },
): { record?: object } {
  const metadata: { annotations?: Annotations; labels?: object } = referenceChange(claim, member.metadata.name);
  const annotations = {
    ...metadata.annotations,
    ...(settings.stampClaims && firstObserved(claim, memory)),
    ...firstReady(claim, memory, isReady(member) ? now : undefined),
    ...traced(unrecordedTrace),
  };
  const record = { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) };
  return Object.keys(record).length > 0 ? { record } : {};
}

/** Completes the record before a status is written that says that the claim is Ready, or why it has no Sandbox. */
export function completeRecord(
  { claim, owned, settings, unrecordedTrace }: Observed,
  status: SandboxClaimStatus,
  { memory, now }: { readonly memory: ClaimMemory; readonly now: number },
): Action[] {
  const bound = owned[0]?.sandbox;
  const willBeReady = isClaimReady({ status });
  // What a starting Sandbox lacks is written when it is Ready: one write instead of two.
  const isStarting = bound !== undefined && !willBeReady && !isClaimReady(claim);
  const isRecorded = isClaimReady(claim) && claim.metadata.annotations?.[claimFirstReadyAtAnnotation] !== undefined;
  if (isStarting || isRecorded) return [];
  const annotations = {
    ...(settings.stampClaims && firstObserved(claim, memory)),
    ...(bound !== undefined && { ...boundMember(claim, bound), ...firstReady(claim, memory, now) }),
  };
  if (Object.keys(annotations).length === 0) return [];
  return [{ do: "change-claim", metadata: { annotations: { ...annotations, ...traced(unrecordedTrace) } } }];
}

function firstObserved({ metadata }: SandboxClaim, { firstObservedAt }: ClaimMemory): Annotations {
  if (metadata.annotations?.[controllerFirstObservedAtAnnotation] !== undefined) return {};
  return { [controllerFirstObservedAtAnnotation]: formatMicroTime(firstObservedAt) };
}

/**
 * `readyAt` is when the claim has a Ready Sandbox, which may be before the transfer is answered: a Ready member stays Ready, or the
 * transfer is refused. In that case the next record corrects the time. Undefined: the Sandbox is not Ready yet.
 */
function firstReady(claim: SandboxClaim, memory: ClaimMemory, readyAt: number | undefined): Annotations {
  const isPresent = claim.metadata.annotations?.[claimFirstReadyAtAnnotation] !== undefined;
  const isForeseen = isPresent && memory.isMeasurable && !isClaimReady(claim);
  if (readyAt === undefined) return isForeseen ? { [claimFirstReadyAtAnnotation]: null } : {};
  if (isPresent) return {};
  const knownAt = memory.firstReadyAt ?? (memory.isMeasurable ? readyAt : undefined);
  return { [claimFirstReadyAtAnnotation]: knownAt === undefined ? "unknown" : formatMicroTime(knownAt) };
}

/** Only Sandboxes from a pool are recorded: any other has the name of its claim. */
function boundMember({ metadata }: SandboxClaim, sandbox: Sandbox): Annotations {
  const { name = "", labels } = sandbox.metadata;
  const isMember = labels?.[launchTypeLabel] === "warm";
  return !isMember || metadata.annotations?.[sandboxNameAnnotation] === name ? {} : { [sandboxNameAnnotation]: name };
}

function traced(context: string | undefined): Annotations {
  return context === undefined ? {} : { [traceContextAnnotation]: context };
}

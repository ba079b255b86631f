import type { SandboxClaim } from "@agent-sandbox/api";
import type { EventRecord } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { bind } from "./bind.ts";
import { completeRecord } from "./claim-record.ts";
import { type Action, type Decision, nothingToDo, type Verdict } from "./decision.ts";
import { expiryOf, isMarkedExpired } from "./lifecycle.ts";
import type { ClaimMemory } from "./memory.ts";
import type { Observed } from "./observe.ts";
import { errorSeen } from "./problem.ts";
import { activeStatus, type Binding, expiredStatus, statusDueAt, warningOf } from "./status.ts";

export function decide(observed: Observed, before: ClaimMemory, now: number): Decision {
  const { claim, legacyPolicy, owned } = observed;
  const memory = remember(observed, before);
  const served = before.isUnserved === true && owned[0] !== undefined ? { served: owned[0].sandbox } : {};
  const cleanUp: Action[] = legacyPolicy === undefined ? [] : [{ do: "delete-policy", policy: legacyPolicy }];
  // Garbage collection deletes the Sandbox with the claim.
  if (claim.metadata.deletionTimestamp !== undefined) return { actions: cleanUp, events: [], memory, ...served };
  const verdict = totalVerdict(observed, memory, now);
  const { status } = verdict;
  const isLast = status !== undefined && verdict.actions.length === 0;
  const record = isLast ? completeRecord(observed, status, { memory, now }) : [];
  return {
    ...withReport(observed, verdict, { memory, now }),
    actions: [...cleanUp, ...verdict.actions, ...record],
    ...served,
  };
}

function remember({ owned, conflict }: Observed, memory: ClaimMemory): ClaimMemory {
  const isUnserved = owned.length === 0;
  if (!isUnserved) return { ...memory, isUnserved, conflicts: 0 };
  return { ...memory, isUnserved, conflicts: memory.conflicts + (conflict === undefined ? 0 : 1) };
}

/** Adds when the status is written. */
function withReport(
  { claim }: Observed,
  verdict: Verdict,
  { memory: { unreportedSince, ...memory }, now }: { memory: ClaimMemory; now: number },
): Decision {
  const { status } = verdict;
  if (status === undefined) return { ...verdict, memory };
  const dueAt = statusDueAt(claim.status, status, { unreportedSince, now });
  if (dueAt !== undefined && dueAt > now) {
    return { ...verdict, memory: { ...memory, unreportedSince: unreportedSince ?? now }, statusDueAt: dueAt };
  }
  return { ...verdict, memory };
}

/** A stored spec may not satisfy today's schema: its author learns what is wrong from the status. */
function totalVerdict(observed: Observed, memory: ClaimMemory, now: number): Verdict {
  const { claim } = observed;
  try {
    const expiry = expiryOf(claim.spec.lifecycle, claim.status?.conditions);
    return expiry !== undefined && expiry <= now ? expire(observed, now) : live(observed, memory, now);
  } catch (error) {
    const [bound] = observed.owned;
    const problem = errorSeen(`Cannot understand the spec: ${errorText(error)}`);
    const binding: Binding = bound === undefined ? { problem, unsure: true } : { to: bound.sandbox };
    const status = activeStatus(claim, binding, now);
    return { ...nothingToDo, status, events: bound === undefined ? [] : [warningOf(problem)] };
  }
}

/** First the status says that the claim has expired; the next pass deletes what it has. */
function expire(observed: Observed, now: number): Verdict {
  const { claim, owned } = observed;
  const status = expiredStatus(claim, owned[0]?.sandbox, now);
  if (!isMarkedExpired(claim.status?.conditions)) {
    return { actions: [], status, events: [expiredEvent("Claim Expired", "The claim has expired")], requeueAt: now };
  }
  const policy = claim.spec.lifecycle?.shutdownPolicy ?? "Retain";
  if (policy !== "Retain") {
    const events = [expiredEvent("Deleting", "The claim has expired and is deleted")];
    return { actions: [{ do: "delete-claim", foreground: policy === "DeleteForeground" }], events };
  }
  const remaining = owned.filter(({ sandbox }) => sandbox.metadata.deletionTimestamp === undefined);
  return { actions: remaining.map(({ sandbox }) => ({ do: "delete-sandbox", sandbox })), status, events: [] };
}

function expiredEvent(action: string, text: string): EventRecord {
  return { type: "Normal", reason: "ClaimExpired", action, text };
}

function live(observed: Observed, memory: ClaimMemory, now: number): Verdict {
  const { claim } = observed;
  const { binding, ...verdict } = bind(observed, memory, now);
  if (binding === undefined) return verdict;
  const status = activeStatus(claim, binding, now);
  const expiry = expiryOf(claim.spec.lifecycle, status.conditions);
  if (expiry === undefined) return { ...verdict, status };
  if (expiry > now) return { ...verdict, status, requeueAt: expiry };
  // The Sandbox has just finished, and the claim expires with it.
  const bound: SandboxClaim = { ...claim, status };
  return {
    ...verdict,
    status: expiredStatus(bound, "to" in binding ? binding.to : undefined, now),
    events: [...verdict.events, expiredEvent("Claim Expired", "The claim has expired")],
    requeueAt: now,
  };
}

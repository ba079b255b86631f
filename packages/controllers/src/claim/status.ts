import {
  adaptMessage,
  type Condition,
  findCondition,
  kindOfTrouble,
  type ReportedCondition,
  removeCondition,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimStatus,
  semanticEqual,
  setCondition,
  troubleIn,
} from "@agent-sandbox/api";
import type { EventRecord } from "@agent-sandbox/kube";
import type { Problem } from "./problem.ts";

/** The Sandbox that the claim is bound to, or why it has none. */
export type Binding =
  | { readonly to: Sandbox }
  /** With `unsure` it is unknown whether the Sandbox in the status still exists. */
  | { readonly problem: Problem; readonly unsure?: boolean }
  | { readonly to: undefined };

/** The status of a claim that has not expired repeats that of its Sandbox. */
export function activeStatus(claim: SandboxClaim, binding: Binding, now: number): SandboxClaimStatus {
  const before = claim.status ?? {};
  const sandbox = "to" in binding ? binding.to : undefined;
  const conditions = withFinished(before.conditions ?? [], sandbox);
  const isUnsure = "problem" in binding && binding.unsure === true;
  const claimed = sandbox === undefined ? undefined : claimedOf(sandbox);
  return statusOf(
    claim,
    setCondition(conditions, observed(claim, ready(binding)), now),
    isUnsure ? before.sandbox : claimed,
  );
}

/** The status of an expired claim. It names the Sandbox until that is gone, and keeps its Finished condition. */
export function expiredStatus(claim: SandboxClaim, sandbox: Sandbox | undefined, now: number): SandboxClaimStatus {
  const verdict = notReady("ClaimExpired", "Claim has expired");
  const conditions = withFinished(claim.status?.conditions ?? [], sandbox, "kept");
  return statusOf(claim, setCondition(conditions, observed(claim, verdict), now), sandbox && claimedOf(sandbox));
}

function statusOf(
  claim: SandboxClaim,
  conditions: readonly Condition[],
  sandbox: SandboxClaimStatus["sandbox"],
): SandboxClaimStatus {
  const { conditions: _, sandbox: before, ...kept } = claim.status ?? {};
  // Other controllers write an empty object, which means the same as none.
  const none = before !== undefined && Object.keys(before).length === 0 ? { sandbox: before } : {};
  const sorted = conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return { ...kept, conditions: sorted, ...(sandbox === undefined ? none : { sandbox }) };
}

function claimedOf({ metadata, status }: Sandbox): NonNullable<SandboxClaimStatus["sandbox"]> {
  return { name: metadata.name ?? "", ...(status?.podIPs?.length && { podIPs: status.podIPs }) };
}

/** The Finished condition is copied from the Sandbox. */
function withFinished(conditions: readonly Condition[], sandbox: Sandbox | undefined, otherwise?: "kept"): Condition[] {
  const finished = findCondition(sandbox?.status?.conditions, "Finished");
  if (finished === undefined && otherwise === "kept") return [...conditions];
  const others = removeCondition(conditions, "Finished");
  return finished === undefined ? others : [...others, finished];
}

/** The transition time is not copied: a pool member was Ready long before it was claimed. */
function ready(binding: Binding): ReportedCondition {
  if ("problem" in binding) return notReady(binding.problem.reason, binding.problem.message);
  if (binding.to === undefined) return notReady("SandboxMissing", "Sandbox does not exist");
  const condition = findCondition(binding.to.status?.conditions, "Ready");
  if (condition === undefined) return notReady("SandboxNotReady", "Sandbox is not ready");
  const { type, status, reason, message } = condition;
  return { type, status, reason, message };
}

function notReady(reason: string, message: string): ReportedCondition {
  return { type: "Ready", status: "False", reason, message: adaptMessage(message) };
}

function observed({ metadata }: SandboxClaim, condition: ReportedCondition): ReportedCondition {
  return metadata.generation === undefined ? condition : { ...condition, observedGeneration: metadata.generation };
}

/**
 * When the status must be written; undefined when it must be written now or has not changed. A status that only gives
 * another reason for not being Ready can wait: while a Sandbox starts the reason changes often, and nobody waits for it.
 */
export function statusDueAt(
  before: SandboxClaimStatus | undefined,
  after: SandboxClaimStatus,
  { unreportedSince, now }: { unreportedSince: number | undefined; now: number },
): number | undefined {
  if (!differsInReason(before, after) || semanticEqual(before, after, ["status"])) return undefined;
  // The minimum: the wait must not get longer when the clock is set back.
  return Math.min(unreportedSince ?? now, now) + reasonWaitMs(before, after);
}

/** Whether nothing but the reason and message of a False Ready condition may differ. */
function differsInReason(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): boolean {
  const [was, is] = [before, after].map((status) => findCondition(status?.conditions, "Ready"));
  if (was?.status !== "False" || is?.status !== "False" || was.observedGeneration !== is.observedGeneration)
    return false;
  if (after.sandbox === undefined || is.reason === "ClaimExpired") return false;
  const rest = (status: SandboxClaimStatus | undefined): object => ({
    ...status,
    conditions: removeCondition(status?.conditions, "Ready"),
  });
  return semanticEqual(rest(before), rest(after), ["status"]);
}

const starting = ["SandboxNotReady", "DependenciesNotReady"];

/** How long another reason may wait. Most Sandboxes that are starting are Ready by then; why one cannot start is useful sooner. */
function reasonWaitMs(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): number {
  const [was, is] = [before, after].map((status) => findCondition(status?.conditions, "Ready"));
  const isStarting = [was, is].every((ready) => starting.includes(ready?.reason ?? ""));
  const trouble = troubleIn(is?.message);
  const isFaulty = trouble !== undefined && kindOfTrouble(trouble) !== "probe";
  return isStarting && !isFaulty ? 10_000 : 1_000;
}

/** Reports a problem of a claim that has its Sandbox, and whose status therefore says nothing about it. */
export function warningOf({ reason, message }: Problem): EventRecord {
  return { type: "Warning", reason, action: "Reconciling", text: message };
}

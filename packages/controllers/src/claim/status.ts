import {
  adaptMessage,
  type Condition,
  findCondition,
  type ReportedCondition,
  removeCondition,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimStatus,
  semanticEqual,
  setCondition,
} from "@agent-sandbox/api";
import type { Problem } from "./problem.ts";

/** What became of a claim in this pass. */
export type Binding =
  | { readonly to: Sandbox }
  | {
      readonly problem: Problem /** Nobody knows whether the Sandbox named before is still there. */;
      readonly unsure?: boolean;
    }
  | { readonly to: undefined };

/** The status of a claim that has not expired: its Sandbox's, as far as it has one. */
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

/** The status of a claim whose time is over. `sandbox` is named until it is gone, and that it finished is kept. */
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
  const { conditions: _c, sandbox: _s, ...kept } = claim.status ?? {};
  const sorted = conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return { ...kept, conditions: sorted, ...(sandbox && { sandbox }) };
}

function claimedOf({ metadata, status }: Sandbox): NonNullable<SandboxClaimStatus["sandbox"]> {
  return { name: metadata.name ?? "", ...(status?.podIPs?.length && { podIPs: status.podIPs }) };
}

/** Finished is the Sandbox's, word for word. */
function withFinished(conditions: readonly Condition[], sandbox: Sandbox | undefined, otherwise?: "kept"): Condition[] {
  const finished = findCondition(sandbox?.status?.conditions, "Finished");
  if (finished === undefined && otherwise === "kept") return [...conditions];
  const others = removeCondition(conditions, "Finished");
  return finished === undefined ? others : [...others, finished];
}

/** When the claim's readiness changed is its own affair: a pool member was Ready long before it was claimed. */
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
 * Whether a claim is as it was in all but words: its Sandbox is not Ready for another reason than before. While a Sandbox
 * starts that changes from moment to moment, and nobody waits for it.
 */
export function differsInWords(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): boolean {
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

/**
 * How long words may wait for something better to say. Of a Sandbox that is starting it is known that it is not ready, and
 * most are by then; why one cannot start is of use.
 */
export function wordsWaitMs(before: SandboxClaimStatus | undefined, after: SandboxClaimStatus): number {
  const reasons = [before, after].map((status) => findCondition(status?.conditions, "Ready")?.reason ?? "");
  return reasons.every((reason) => starting.includes(reason)) ? 10_000 : 1_000;
}

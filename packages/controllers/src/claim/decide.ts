import {
  mergePatch,
  type NetworkPolicy,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimStatus,
  semanticEqual,
} from "@agent-sandbox/api";
import type { Note } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { refuseMetadata } from "./additional-metadata.ts";
import { coldSandbox, transferred, upToDate } from "./claimed-sandbox.ts";
import { expiryOf, isMarkedExpired } from "./lifecycle.ts";
import type { Observed, Stamped } from "./observed.ts";
import { errorSeen, type Outcome, type Problem } from "./problem.ts";
import { referenceChange, referenceOf } from "./reference.ts";
import { activeStatus, type Binding, expiredStatus } from "./status.ts";

/** Each is held to the very objects it names, at the version they were seen. */
export type Action =
  | { readonly do: "delete-policy"; readonly policy: NetworkPolicy }
  | { readonly do: "change-claim"; readonly metadata: object }
  | { readonly do: "adopt"; readonly member: Sandbox; readonly change: object }
  | { readonly do: "create"; readonly sandbox: Sandbox }
  | { readonly do: "change-sandbox"; readonly sandbox: Sandbox; readonly change: object }
  | { readonly do: "delete-sandbox"; readonly sandbox: Sandbox }
  | { readonly do: "delete-claim"; readonly foreground: boolean };

export interface Decision {
  readonly actions: readonly Action[];
  /** Undefined: leave the status as it is. */
  readonly status?: SandboxClaimStatus;
  readonly notes: readonly Note[];
  /** When to look again even if nothing changes. */
  readonly wakeAt?: number;
}

/** What to do about one claim now. Pure: the same observation at the same time gives the same answer. */
export function decide(seen: Observed, now: number): Decision {
  const { claim, legacyPolicy } = seen;
  const cleanUp: Action[] = legacyPolicy === undefined ? [] : [{ do: "delete-policy", policy: legacyPolicy }];
  // The Sandbox goes with the claim by garbage collection.
  if (claim.metadata.deletionTimestamp !== undefined) return { actions: cleanUp, notes: [] };
  const decision = understoodDecision(seen, now);
  return { ...decision, actions: [...cleanUp, ...decision.actions] };
}

/** Total: a spec that no schema would let through is told to whoever wrote it, like any other mistake. */
function understoodDecision(seen: Observed, now: number): Decision {
  const { claim } = seen;
  try {
    const expiry = expiryOf(claim.spec.lifecycle, claim.status?.conditions);
    return expiry !== undefined && expiry <= now ? end(seen, now) : live(seen, now);
  } catch (error) {
    const [bound] = seen.owned;
    const problem = errorSeen(`Cannot understand the spec: ${errorText(error)}`);
    const binding: Binding = bound === undefined ? { problem, unsure: true } : { to: bound.sandbox };
    const status = activeStatus(claim, binding, now);
    return { ...nothing, status, notes: bound === undefined ? [] : [warningOf(problem)] };
  }
}

/** Tells that the claim is over; the next pass, which sees that told, tears it down. */
function end(seen: Observed, now: number): Decision {
  const { claim, owned } = seen;
  const bound = owned[0]?.sandbox;
  const status = expiredStatus(claim, bound, now);
  if (!isMarkedExpired(claim.status?.conditions)) {
    return { actions: [], status, notes: [expired("Claim Expired", "The claim has expired")], wakeAt: now };
  }
  const policy = claim.spec.lifecycle?.shutdownPolicy ?? "Retain";
  if (policy !== "Retain") {
    const notes = [expired("Deleting", "The claim has expired and is deleted")];
    return { actions: [{ do: "delete-claim", foreground: policy === "DeleteForeground" }], notes };
  }
  const doomed = owned.filter(({ sandbox }) => sandbox.metadata.deletionTimestamp === undefined);
  return { actions: doomed.map(({ sandbox }) => ({ do: "delete-sandbox", sandbox })), status, notes: [] };
}

function expired(action: string, text: string): Note {
  return { type: "Normal", reason: "ClaimExpired", action, text };
}

function live(seen: Observed, now: number): Decision {
  const { claim } = seen;
  const { binding, ...decision } = bind(seen);
  if (binding === undefined) return decision;
  const status = activeStatus(claim, binding, now);
  const expiry = expiryOf(claim.spec.lifecycle, status.conditions);
  if (expiry === undefined) return { ...decision, status };
  if (expiry > now) return { ...decision, status, wakeAt: expiry };
  // A Sandbox that has just been seen to have finished may end the claim in the same moment.
  const bound = "to" in binding ? binding.to : undefined;
  const last = expiredStatus({ ...claim, status }, bound, now);
  return {
    ...decision,
    status: last,
    notes: [...decision.notes, expired("Claim Expired", "The claim has expired")],
    wakeAt: now,
  };
}

/** Undefined as binding: it is too early to say anything. */
interface Bound extends Decision {
  readonly binding: Binding | undefined;
}

function bind(seen: Observed): Bound {
  const { claim, owned, namesake, pool, blueprint, candidate, waitUntil, failure } = seen;
  const refusal = refuseMetadata(claim.spec.additionalPodMetadata, seen.labelDomains);
  const [bound] = owned;
  if (bound !== undefined) return keep(seen, bound, refusal);
  if (failure !== undefined) return { ...nothing, binding: { problem: failure, unsure: true } };
  if (refusal !== undefined) return stopped({ reason: "InvalidMetadata", message: refusal });
  if (namesake !== undefined && candidate === undefined) return stopped(namesakeProblem(claim));
  if (pool === undefined) return stopped(missing("WarmPoolNotFound", "SandboxWarmPool", claim.spec.warmPoolRef.name));
  if (candidate !== undefined) return adopt(claim, candidate);
  if (waitUntil !== undefined) return { ...nothing, binding: undefined, wakeAt: waitUntil };
  if (blueprint === undefined) {
    return stopped(missing("TemplateNotFound", "SandboxTemplate", pool.spec?.sandboxTemplateRef?.name ?? ""));
  }
  const made = coldSandbox(claim, blueprint);
  if ("problem" in made) return stopped(made.problem);
  return {
    ...nothing,
    actions: [...dropReference(claim, undefined), { do: "create", sandbox: made.value }],
    binding: { to: undefined },
  };
}

const nothing: Decision = { actions: [], notes: [] };

function stopped(problem: Problem): Bound {
  return { ...nothing, binding: { problem } };
}

function missing(reason: "WarmPoolNotFound" | "TemplateNotFound", kind: string, name: string): Problem {
  return { reason, message: `${kind} "${name}" not found` };
}

function namesakeProblem({ metadata }: SandboxClaim): Problem {
  return errorSeen(
    `Cannot make Sandbox "${metadata.name}": one of that name is not controlled by this claim; delete it or give the claim another name`,
  );
}

/**
 * A claim that has its Sandbox stays as ready as that is, whatever else is wrong. What it may not have is told as an event;
 * a second Sandbox, which only two controllers at once can have given it, is returned.
 */
function keep({ claim, owned, stamp }: Observed, bound: Stamped, refusal: string | undefined): Bound {
  const { sandbox } = bound;
  const wanted: Outcome<Sandbox> =
    refusal === undefined
      ? upToDate(claim, sandbox, bound)
      : { problem: { reason: "InvalidMetadata", message: refusal } };
  const surplus = owned.slice(1).filter((extra) => extra.sandbox.metadata.deletionTimestamp === undefined);
  const actions: Action[] = [
    ...migrateReference(claim, sandbox),
    ...(stamp === undefined ? [] : [{ do: "change-claim", metadata: { annotations: stamp } } as const]),
    ...("value" in wanted ? changeTo(sandbox, wanted.value) : []),
    ...surplus.map((extra) => ({ do: "delete-sandbox", sandbox: extra.sandbox }) as const),
  ];
  return { actions, notes: "problem" in wanted ? [warningOf(wanted.problem)] : [], binding: { to: sandbox } };
}

function warningOf({ reason, message }: Problem): Note {
  return { type: "Warning", reason, action: "Reconciling", text: message };
}

function changeTo(sandbox: Sandbox, wanted: Sandbox): Action[] {
  if (sandbox.metadata.deletionTimestamp !== undefined || semanticEqual(sandbox, wanted)) return [];
  const change = mergePatch(sandbox, wanted);
  return change === undefined ? [] : [{ do: "change-sandbox", sandbox, change }];
}

/** Earlier controllers noted the Sandbox in a label; readers of today look for the annotation. */
function migrateReference(claim: SandboxClaim, { metadata }: Sandbox): Action[] {
  const reference = referenceOf(claim);
  if (reference?.isLegacy !== true || reference.name !== metadata.name) return [];
  return [{ do: "change-claim", metadata: referenceChange(claim, reference.name) }];
}

/** A reference to anything else than what the claim gets is taken back first. */
function dropReference(claim: SandboxClaim, sandbox: Sandbox | undefined): Action[] {
  const reference = referenceOf(claim);
  if (reference === undefined || reference.name === sandbox?.metadata.name) return [];
  return [{ do: "change-claim", metadata: referenceChange(claim, undefined) }];
}

/** Nothing is written before it is known that the claim's metadata goes with the template's. */
function adopt(claim: SandboxClaim, { sandbox, blueprint, templateName = "" }: Stamped): Bound {
  const wanted = transferred(claim, sandbox, { blueprint, templateName });
  if ("problem" in wanted) return stopped(wanted.problem);
  const change = mergePatch(sandbox, wanted.value) ?? {};
  const actions = [...dropReference(claim, sandbox), { do: "adopt", member: sandbox, change } as const];
  return { actions, notes: [], binding: { to: undefined } };
}

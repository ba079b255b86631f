import {
  mergePatch,
  type Sandbox,
  type SandboxBlueprint,
  type SandboxClaim,
  type SandboxWarmPool,
  semanticEqual,
} from "@agent-sandbox/api";
import { keyOf, objectKey } from "@agent-sandbox/kube";
import { refuseMetadata } from "./additional-metadata.ts";
import { recordOfAdoption } from "./claim-record.ts";
import { coldSandbox, transferred, upToDate } from "./claimed-sandbox.ts";
import { type Action, nothingToDo, type Verdict } from "./decision.ts";
import { poolIdOf } from "./free-members.ts";
import type { ClaimMemory } from "./memory.ts";
import type { Observed, Stamped } from "./observe.ts";
import { errorSeen, type Outcome, type Problem } from "./problem.ts";
import { referenceChange, referenceOf } from "./reference.ts";
import { type Binding, warningOf } from "./status.ts";

/** What to do about the claim's Sandbox. Without a binding it is too early to report anything. */
interface Bound extends Verdict {
  readonly binding: Binding | undefined;
}

/** How often in a row a reserved member may change before the claim reports it. */
const mostQuietConflicts = 5;

/**
 * Gives the claim its Sandbox. In order: keep the one it has, reserve a pool member, adopt it, wait for a member that is still
 * starting, create a new Sandbox.
 */
export function bind(observed: Observed, memory: ClaimMemory, now: number): Bound {
  const { claim, owned, namesake, pool, blueprint, reservation, conflict, failure, isOutdated, settings } = observed;
  const refusal = refuseMetadata(claim.spec.additionalPodMetadata, settings.labelDomains);
  const [bound] = owned;
  if (isOutdated === true) return { ...nothingToDo, binding: undefined };
  if (bound !== undefined) return keep(observed, bound, refusal);
  if (conflict !== undefined) return conflicted(conflict, memory);
  if (failure !== undefined) return { ...nothingToDo, binding: { problem: failure, unsure: true } };
  if (refusal !== undefined) return stopped({ reason: "InvalidMetadata", message: refusal });
  const request = pool && reservation === undefined ? requestFor(observed, pool, memory) : undefined;
  if (request !== undefined) return { ...nothingToDo, actions: [request], binding: undefined };
  const member = reservation?.type === "member" ? reservation.member : undefined;
  if (namesake !== undefined && member === undefined) return stopped(namesakeProblem(claim));
  if (pool === undefined) return stopped(missing("WarmPoolNotFound", "SandboxWarmPool", claim.spec.warmPoolRef.name));
  if (member !== undefined) return adopt(observed, member, { memory, now });
  if (reservation?.type === "queued") {
    return { ...nothingToDo, binding: undefined, requeueAt: now + settings.patienceMs - waitedMs(observed, memory) };
  }
  if (blueprint === undefined) {
    return stopped(missing("TemplateNotFound", "SandboxTemplate", pool.spec?.sandboxTemplateRef?.name ?? ""));
  }
  const made = coldSandbox(claim, blueprint);
  if ("problem" in made) return stopped(made.problem);
  return {
    ...nothingToDo,
    actions: [...dropReference(claim), { do: "create", sandbox: made.value }],
    binding: { to: undefined },
  };
}

function stopped(problem: Problem): Bound {
  return { ...nothingToDo, binding: { problem } };
}

function missing(reason: "WarmPoolNotFound" | "TemplateNotFound", kind: string, name: string): Problem {
  return { reason, message: `${kind} "${name}" not found` };
}

function namesakeProblem({ metadata }: SandboxClaim): Problem {
  return errorSeen(
    `Cannot make Sandbox "${metadata.name}": one of that name is not controlled by this claim; delete it or give the claim another name`,
  );
}

function waitedMs({ uptimeMs }: Observed, { firstObservedUptimeMs }: ClaimMemory): number {
  return uptimeMs - firstObservedUptimeMs;
}

/** Undefined when no pool member can serve the claim, because what the claim adds must be in the Sandbox from its creation. */
function requestFor(
  observed: Observed,
  pool: SandboxWarmPool,
  memory: ClaimMemory,
): (Action & { do: "reserve" }) | undefined {
  const { claim, blueprint, namesake, settings } = observed;
  const reference = referenceOf(claim);
  const named = reference && keyOf({ namespace: claim.metadata.namespace ?? "", name: reference.name });
  const needsOwn =
    (claim.spec.env?.length ?? 0) > 0 ||
    (claim.spec.volumeClaimTemplates?.length ?? 0) > 0 ||
    wantsOtherSnapshot(claim, blueprint?.spec);
  const isNamedOnly = needsOwn || namesake !== undefined;
  if (isNamedOnly && named === undefined) return undefined;
  // A member of an older version of the template may have been made from another snapshot.
  const mustBeCurrent = pool.spec?.updateStrategy?.type === "Recreate" || claim.spec.restoreFrom !== undefined;
  const others = isNamedOnly ? "none" : mustBeCurrent ? "current" : "any";
  return {
    do: "reserve",
    claim: objectKey(claim),
    poolId: poolIdOf(pool.metadata.namespace, pool.metadata.uid),
    named,
    others,
    mayQueue: waitedMs(observed, memory) < settings.patienceMs,
  };
}

/** Members are made from the snapshot of the template, if it names one. */
function wantsOtherSnapshot({ spec }: SandboxClaim, blueprint: SandboxBlueprint | undefined): boolean {
  const name = spec.restoreFrom?.snapshotRef?.name;
  return name !== undefined && name !== blueprint?.restoreFrom?.snapshotRef?.name;
}

/** A few conflicts are normal and retried at once. After more the claim reports them and is retried with backoff. */
function conflicted({ member, error }: NonNullable<Observed["conflict"]>, { conflicts }: ClaimMemory): Bound {
  if (conflicts < mostQuietConflicts) return { ...nothingToDo, binding: undefined };
  const message = `Cannot adopt Sandbox "${member.metadata.name}": a concurrent write came first ${conflicts} times in a row`;
  const problem: Problem = { reason: "AdoptionConflict", message };
  return { ...nothingToDo, binding: { problem, unsure: true }, error: new Error(message, { cause: error }) };
}

/**
 * A claim that has its Sandbox stays as ready as that is, whatever else is wrong. An event reports what the claim may not have.
 * A second Sandbox, which only two controllers at once can have given it, is deleted.
 */
function keep({ claim, owned }: Observed, bound: Stamped, refusal: string | undefined): Bound {
  const { sandbox } = bound;
  const wanted: Outcome<Sandbox> =
    refusal === undefined
      ? upToDate(claim, sandbox, bound)
      : { problem: { reason: "InvalidMetadata", message: refusal } };
  const surplus = owned.slice(1).filter((extra) => extra.sandbox.metadata.deletionTimestamp === undefined);
  const actions: Action[] = [
    ...migrateReference(claim, sandbox),
    ...("value" in wanted ? changeTo(sandbox, wanted.value) : []),
    ...surplus.map((extra) => ({ do: "delete-sandbox", sandbox: extra.sandbox }) as const),
  ];
  return { actions, events: "problem" in wanted ? [warningOf(wanted.problem)] : [], binding: { to: sandbox } };
}

function changeTo(sandbox: Sandbox, wanted: Sandbox): Action[] {
  if (sandbox.metadata.deletionTimestamp !== undefined || semanticEqual(sandbox, wanted)) return [];
  const change = mergePatch(sandbox, wanted);
  return change === undefined ? [] : [{ do: "change-sandbox", sandbox, change }];
}

/** Earlier versions named the Sandbox in a label; clients of today read the annotation. */
function migrateReference(claim: SandboxClaim, { metadata }: Sandbox): Action[] {
  const reference = referenceOf(claim);
  if (reference?.isLegacy !== true || reference.name !== metadata.name) return [];
  return [{ do: "change-claim", metadata: referenceChange(claim, reference.name) }];
}

/** Removes a reference from a claim that gets a Sandbox of its own. */
function dropReference(claim: SandboxClaim): Action[] {
  return referenceOf(claim) === undefined ? [] : [{ do: "change-claim", metadata: referenceChange(claim, undefined) }];
}

/** Nothing is written when the claim's metadata contradicts the template's. */
function adopt(
  observed: Observed,
  { sandbox, blueprint, templateName = "" }: Stamped,
  when: { readonly memory: ClaimMemory; readonly now: number },
): Bound {
  const { claim } = observed;
  const wanted = transferred(claim, sandbox, { blueprint, templateName });
  if ("problem" in wanted) return stopped(wanted.problem);
  const change = mergePatch(sandbox, wanted.value) ?? {};
  const record = recordOfAdoption(observed, sandbox, when);
  return { actions: [{ do: "adopt", member: sandbox, change, ...record }], events: [], binding: { to: undefined } };
}

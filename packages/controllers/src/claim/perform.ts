import { type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { type ActionFailure, type EventRecord, isReason, type Pass } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import { networkPolicies } from "../template/network-policies.ts";
import { isStale } from "../warm-pool/staleness.ts";
import type { Action } from "./decision.ts";
import { type ClaimCaches, type Observed, type Reservation, stamp } from "./observe.ts";
import { errorSeen, type Problem } from "./problem.ts";
import type { Reservations } from "./reservations.ts";

export interface ClaimPorts {
  readonly pass: Pass;
  readonly reservations: Reservations;
  readonly caches: ClaimCaches;
  readonly recordEvent: (event: EventRecord) => void;
}

/** Returns what is observed after the action; undefined when the server contradicts the caches. */
export async function perform(action: Action, observed: Observed, ports: ClaimPorts): Promise<Observed | undefined> {
  const { client, signal } = ports.pass;
  const { claim } = observed;
  switch (action.do) {
    case "delete-policy": {
      const { policy } = action;
      await client
        .delete(networkPolicies, placeOf(policy), { preconditions: guardOf(policy), signal })
        .catch(ignoreNotFound);
      return { ...observed, legacyPolicy: undefined };
    }
    case "change-claim":
      return changeClaim(claim, action.metadata, ports.pass).then(
        (changed) => ({ ...observed, claim: changed }),
        ignoreChanged,
      );
    case "reserve":
      return withReservation(action, observed, ports);
    case "adopt":
      return adopt(action, observed, ports);
    case "create":
      return create(action.sandbox, observed, ports);
    case "change-sandbox":
      return withBound(observed, await change(action.sandbox, action.change, ports.pass));
    case "delete-sandbox":
      return deleteSandbox(action.sandbox, observed, ports.pass);
    case "delete-claim": {
      const propagationPolicy = action.foreground ? "Foreground" : "Background";
      const options = { preconditions: guardOf(claim), propagationPolicy, signal } as const;
      await client.delete(sandboxClaims, placeOf(claim), options).catch(ignoreNotFound);
      return undefined;
    }
    default:
      return action satisfies never;
  }
}

/** Synchronous: no other claim can come between the choice of a member and its reservation. */
export function withReservation(
  request: Action & { do: "reserve" },
  observed: Observed,
  { reservations, caches }: Pick<ClaimPorts, "reservations" | "caches">,
): Observed {
  const { pool, blueprint } = observed;
  const snapshotUid = caches.snapshots.uidFor(blueprint);
  const isCurrent = (member: Sandbox): boolean => blueprint !== undefined && !isStale(member, blueprint, snapshotUid);
  const reserved = reservations.reserve(request, isCurrent);
  const reservation: Reservation =
    reserved.type === "member" ? { type: "member", member: stamp(reserved.sandbox, pool, caches) } : reserved;
  return { ...observed, reservation };
}

async function changeClaim(
  claim: SandboxClaim,
  metadata: object,
  { client, signal, ownWrite }: Pass,
): Promise<SandboxClaim> {
  const patch = { type: "merge", body: { metadata }, preconditions: guardOf(claim) } as const;
  return ownWrite(await client.patch(sandboxClaims, placeOf(claim), patch, { signal }));
}

/** The object is not what the caches show: the next pass observes it again. */
function ignoreChanged(error: unknown): undefined {
  if (!isReason(error, "Conflict", "NotFound")) throw error;
  return undefined;
}

async function change(sandbox: Sandbox, body: object, { client, signal, ownWrite }: Pass): Promise<Sandbox> {
  const patch = { type: "merge", body, preconditions: guardOf(sandbox) } as const;
  return ownWrite(await client.patch(sandboxes, placeOf(sandbox), patch, { signal }));
}

function withBound(observed: Observed, sandbox: Sandbox): Observed {
  const { owned, reservation } = observed;
  const [bound, ...others] = owned;
  const reserved = reservation?.type === "member" ? reservation.member : undefined;
  const stamped = bound ?? reserved ?? { templateName: undefined, blueprint: undefined };
  return { ...observed, owned: [{ ...stamped, sandbox }, ...others] };
}

/**
 * The one write that gives a pool member to a claim, at the version that was observed to be free (ADR 11). The claim's record is
 * written at the same time. If only the record fails, the claim has its Sandbox, and the record is completed later.
 */
async function adopt(
  { member, change: body, record }: Action & { do: "adopt" },
  observed: Observed,
  { pass, recordEvent }: ClaimPorts,
): Promise<Observed> {
  const [transfer, recorded] = await Promise.allSettled([
    change(member, body, pass),
    record === undefined ? observed.claim : changeClaim(observed.claim, record, pass),
  ]);
  const known = recorded.status === "fulfilled" ? { ...observed, claim: recorded.value } : observed;
  if (transfer.status === "rejected") {
    const error: unknown = transfer.reason;
    if (!isReason(error, "Conflict", "NotFound")) throw error;
    return { ...known, conflict: { member, error } };
  }
  const text = `Adopted Sandbox "${transfer.value.metadata.name}" from the pool`;
  recordEvent({ type: "Normal", reason: "SandboxAdopted", action: "Adoption", text });
  const isOutdated = recorded.status === "rejected" && isReason(recorded.reason, "Conflict", "NotFound");
  return { ...withBound(known, transfer.value), ...(isOutdated && { isOutdated }) };
}

async function create(
  wanted: Sandbox,
  observed: Observed,
  { pass: { client, signal, ownWrite }, recordEvent }: ClaimPorts,
): Promise<Observed | undefined> {
  try {
    const sandbox = ownWrite(await client.create(sandboxes, wanted, { signal }));
    const text = `Made Sandbox "${sandbox.metadata.name}"`;
    recordEvent({ type: "Normal", reason: "SandboxProvisioned", action: "Provisioning", text });
    return withBound(observed, sandbox);
  } catch (error) {
    if (isReason(error, "AlreadyExists")) return undefined;
    throw error;
  }
}

/**
 * Deletes a Sandbox only if the API server still has the version of the claim that the decision was made on: another controller
 * may have bound the claim to this Sandbox, and a user may rely on it.
 */
async function deleteSandbox(
  sandbox: Sandbox,
  observed: Observed,
  { client, signal }: Pass,
): Promise<Observed | undefined> {
  const claim = await client.get(sandboxClaims, placeOf(observed.claim), { signal }).catch(ignoreNotFound);
  if (claim?.metadata.resourceVersion !== observed.claim.metadata.resourceVersion) return undefined;
  const options = { preconditions: guardOf(sandbox), signal };
  await client.delete(sandboxes, placeOf(sandbox), options).catch(ignoreNotFound);
  const deleted = { ...sandbox, metadata: { ...sandbox.metadata, deletionTimestamp: "now" } };
  const owned = observed.owned.map((one) => (one.sandbox === sandbox ? { ...one, sandbox: deleted } : one));
  return { ...observed, owned };
}

/** A claim that has its Sandbox is as ready as that is, also when an action failed. */
export function failed(error: unknown, observed: Observed): ActionFailure<Observed> {
  const problem = problemOf(error);
  if (problem !== undefined) return { observed: { ...observed, failure: problem }, retry: true };
  return { observed: observed.owned.length === 0 ? undefined : observed, retry: true };
}

/** Undefined when it is unknown whether the server carried out the request: the next pass may find that it did. */
function problemOf(error: unknown): Problem | undefined {
  return isReason(error, "Interrupted", "Conflict", "Timeout", "ServerTimeout")
    ? undefined
    : errorSeen(errorText(error));
}

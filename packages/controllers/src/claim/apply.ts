import {
  mergePatch,
  type Sandbox,
  type SandboxClaim,
  type SandboxClaimStatus,
  sandboxClaims,
  sandboxes,
  semanticEqual,
} from "@agent-sandbox/api";
import type { OwnWrites } from "@agent-sandbox/kube";
import { type Client, isReason, type Note } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";

import { networkPolicies } from "../template/network-policies.ts";
import { type Action, decide } from "./decide.ts";
import type { Observed } from "./observed.ts";
import { errorSeen, type Problem, ProblemError } from "./problem.ts";
import { differsInWords, wordsWaitMs } from "./status.ts";

export interface ClaimPorts {
  readonly client: Client;
  readonly ownWrites: OwnWrites;
  /** Aborted when the process cannot wait for the pass any longer. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly tell: (note: Note) => void;
  /** A Sandbox was taken from a pool or made. */
  readonly onServed: (sandbox: Sandbox) => void;
  /** Since when the status differs from what is known, if only in words. */
  readonly unreportedSince: number | undefined;
  /** Another write came before the transfer. Says what to tell of it; undefined while it is worth no word. */
  readonly onConflict: (member: Sandbox) => Problem | undefined;
}

export interface ClaimPass {
  readonly wakeAt?: number | undefined;
  /** The claim as the server has it after its status was written in this pass. */
  readonly reported?: SandboxClaim;
  readonly sandbox?: Sandbox | undefined;
  /** Whether the status is left as it is for a moment, because it differs only in words. */
  readonly defers?: boolean;
  /** Whether the member promised to the claim is not wanted. */
  readonly returnsMember?: boolean;
}

/** Carries out what is decided about one claim, then reports on what the answers showed: once, and last. */
export async function reconcileClaim(ports: ClaimPorts, seen: Observed): Promise<ClaimPass> {
  const decision = decide(seen, ports.now());
  for (const note of decision.notes) ports.tell(note);
  let after: Observed | undefined = seen;
  try {
    for (const action of decision.actions) {
      after = await perform(ports, after, action);
      // The server contradicts the cache. The next pass comes when the cache knows better.
      if (after === undefined) return {};
    }
  } catch (error) {
    await reportFailure(ports, after ?? seen, error);
    throw error;
  }
  const returnsMember = seen.candidate !== undefined && !decision.actions.some((action) => action.do === "adopt");
  return { ...(await report(ports, after)), returnsMember };
}

/** The state after the action; undefined when nobody knows it yet. */
async function perform(ports: ClaimPorts, seen: Observed, action: Action): Promise<Observed | undefined> {
  const { client, ownWrites, signal } = ports;
  switch (action.do) {
    case "delete-policy": {
      const { policy } = action;
      await client
        .delete(networkPolicies, placeOf(policy), { preconditions: guardOf(policy), signal })
        .catch(ignoreNotFound);
      return { ...seen, legacyPolicy: undefined };
    }
    case "change-claim": {
      const patch = { type: "merge", body: { metadata: action.metadata }, preconditions: guardOf(seen.claim) } as const;
      const claim = ownWrites.remember(await client.patch(sandboxClaims, placeOf(seen.claim), patch, { signal }));
      return { ...seen, claim };
    }
    case "adopt":
      return adopt(ports, seen, action);
    case "create":
      return create(ports, seen, action.sandbox);
    case "change-sandbox":
      return withBound(seen, await change(ports, action.sandbox, action.change));
    case "delete-sandbox":
      return deleteSandbox(ports, seen, action.sandbox);
    case "delete-claim": {
      const propagationPolicy = action.foreground ? "Foreground" : "Background";
      const options = { preconditions: guardOf(seen.claim), propagationPolicy, signal } as const;
      await client.delete(sandboxClaims, placeOf(seen.claim), options).catch(ignoreNotFound);
      return undefined;
    }
    default:
      return action satisfies never;
  }
}

async function change({ client, ownWrites, signal }: ClaimPorts, sandbox: Sandbox, body: object): Promise<Sandbox> {
  const patch = { type: "merge", body, preconditions: guardOf(sandbox) } as const;
  return ownWrites.remember(await client.patch(sandboxes, placeOf(sandbox), patch, { signal }));
}

function withBound(seen: Observed, sandbox: Sandbox): Observed {
  const [bound, ...others] = seen.owned;
  const stamp = bound ?? seen.candidate ?? { templateName: undefined, blueprint: undefined };
  return { ...seen, owned: [{ ...stamp, sandbox }, ...others], candidate: undefined };
}

/** The one write that gives a Sandbox to a claim. It holds only for the very version that was seen to be free. */
async function adopt(
  ports: ClaimPorts,
  seen: Observed,
  { member, change: body }: { member: Sandbox; change: object },
): Promise<Observed | undefined> {
  try {
    const sandbox = await change(ports, member, body);
    ports.onServed(sandbox);
    const text = `Adopted Sandbox "${sandbox.metadata.name}" from the pool`;
    ports.tell({ type: "Normal", reason: "SandboxAdopted", action: "Adoption", text });
    return withBound(seen, sandbox);
  } catch (error) {
    if (!isReason(error, "Conflict", "NotFound")) throw error;
    const problem = ports.onConflict(member);
    if (problem === undefined) return undefined;
    throw new ProblemError(problem, error);
  }
}

async function create(ports: ClaimPorts, seen: Observed, wanted: Sandbox): Promise<Observed | undefined> {
  const { client, ownWrites, signal } = ports;
  try {
    const sandbox = ownWrites.remember(await client.create(sandboxes, wanted, { signal }));
    ports.onServed(sandbox);
    const text = `Made Sandbox "${sandbox.metadata.name}"`;
    ports.tell({ type: "Normal", reason: "SandboxProvisioned", action: "Provisioning", text });
    return withBound(seen, sandbox);
  } catch (error) {
    if (isReason(error, "AlreadyExists")) return undefined;
    throw error;
  }
}

/**
 * Only what the server, asked now, still shows to be unneeded: the claim as it was decided on, and the very Sandbox. One
 * that another controller has told a user about is never taken back on old knowledge.
 */
async function deleteSandbox(ports: ClaimPorts, seen: Observed, sandbox: Sandbox): Promise<Observed | undefined> {
  const { client, signal } = ports;
  const claim = await client.get(sandboxClaims, placeOf(seen.claim), { signal }).catch(ignoreNotFound);
  if (claim?.metadata.resourceVersion !== seen.claim.metadata.resourceVersion) return undefined;
  const options = { preconditions: guardOf(sandbox), signal };
  await client.delete(sandboxes, placeOf(sandbox), options).catch(ignoreNotFound);
  return seen;
}

/** A claim that has its Sandbox is as ready as that is: an error of ours does not change what it serves. */
async function reportFailure(ports: ClaimPorts, seen: Observed, error: unknown): Promise<void> {
  const problem = problemOf(error);
  if (problem === undefined && seen.owned.length === 0) return;
  await report(ports, problem === undefined ? seen : { ...seen, failure: problem }).catch(() => undefined);
}

/** Undefined when nobody knows what the server did: the next pass, which looks first, may find that all went well. */
function problemOf(error: unknown): Problem | undefined {
  if (error instanceof ProblemError) return error.problem;
  return isReason(error, "Interrupted", "Conflict", "Timeout", "ServerTimeout")
    ? undefined
    : errorSeen(errorText(error));
}

async function report(ports: ClaimPorts, seen: Observed): Promise<ClaimPass> {
  const { status, wakeAt } = decide(seen, ports.now());
  const sandbox = seen.owned[0]?.sandbox;
  if (status === undefined || semanticEqual(seen.claim.status, status, ["status"])) return { wakeAt, sandbox };
  const now = ports.now();
  // A date that jumps back does not make the words wait for longer.
  const dueAt = Math.min(ports.unreportedSince ?? now, now) + wordsWaitMs(seen.claim.status, status);
  if (differsInWords(seen.claim.status, status) && now < dueAt) {
    return { wakeAt: Math.min(wakeAt ?? dueAt, dueAt), sandbox, defers: true };
  }
  const reported = await writeStatus(ports, seen.claim, status);
  return { wakeAt, sandbox, ...(reported && { reported }) };
}

/** Undefined when the claim is gone, or was changed since: then another pass judges it anew. */
async function writeStatus(
  { client, ownWrites, signal }: ClaimPorts,
  claim: SandboxClaim,
  status: SandboxClaimStatus,
): Promise<SandboxClaim | undefined> {
  const body = { status: mergePatch(claim.status ?? {}, status) };
  const patch = { type: "merge", body, preconditions: guardOf(claim) } as const;
  try {
    return ownWrites.remember(
      await client.patch(sandboxClaims, placeOf(claim), patch, { subresource: "status", signal }),
    );
  } catch (error) {
    if (isReason(error, "Conflict", "NotFound")) return undefined;
    throw error;
  }
}

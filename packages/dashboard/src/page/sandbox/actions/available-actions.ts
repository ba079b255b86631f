/** Which actions the page of a sandbox offers, from its state and from what the user may do. Pure. */
import { findCondition, isPoolMember, type Sandbox, sleepReason } from "@agent-sandbox/api";
import { knownState } from "../../model/sandbox-state.ts";
import { ownerClaim } from "../origin.ts";

export const actions = ["resume", "suspend", "snapshot", "fork", "restart", "extend", "delete"] as const;
export type Action = (typeof actions)[number];

/** What the user may do in the namespace. */
export interface Rights {
  readonly patchSandboxes: boolean;
  readonly createSandboxes: boolean;
  readonly deleteSandboxes: boolean;
  readonly createSnapshots: boolean;
  readonly deletePods: boolean;
  readonly patchClaims: boolean;
  readonly deleteClaims: boolean;
}

export function availableActions(sandbox: Sandbox, rights: Rights): readonly Action[] {
  if (sandbox.metadata.deletionTimestamp !== undefined) return [];
  const isAsleep = sleepReason(sandbox) !== undefined || sandbox.spec.operatingMode === "Suspended";
  const isClaimed = ownerClaim(sandbox) !== undefined;
  const { state } = knownState(sandbox);
  // A snapshot is taken of a Pod that runs, or of a state that was saved.
  const canCapture = state !== "failed" && state !== "finished";
  const isEnded = findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired";
  const offered: Readonly<Record<Action, boolean>> = {
    resume: isAsleep && rights.patchSandboxes,
    suspend: !isAsleep && !isEnded && !isPoolMember(sandbox) && rights.patchSandboxes,
    snapshot: canCapture && rights.createSnapshots,
    fork: canCapture && rights.createSnapshots && rights.createSandboxes,
    restart: !isAsleep && !isEnded && rights.deletePods,
    // A claim sets the lifetime of its sandbox.
    extend: isClaimed ? rights.patchClaims : !isPoolMember(sandbox) && rights.patchSandboxes,
    delete: isClaimed ? rights.deleteClaims : rights.deleteSandboxes,
  };
  return actions.filter((action) => offered[action]);
}

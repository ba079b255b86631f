import type { NetworkPolicy, Sandbox, SandboxClaimStatus } from "@agent-sandbox/api";
import type { Decision as EngineDecision, EventRecord } from "@agent-sandbox/kube";
import type { ClaimMemory } from "./memory.ts";
import type { ReservationRequest } from "./reservations.ts";

/** Performed only on the objects that the action contains, at their version. */
export type Action =
  | { readonly do: "delete-policy"; readonly policy: NetworkPolicy }
  | { readonly do: "change-claim"; readonly metadata: object }
  | ({ readonly do: "reserve" } & ReservationRequest)
  /** `record` is a change of the claim's metadata, written at the same time. */
  | { readonly do: "adopt"; readonly member: Sandbox; readonly change: object; readonly record?: object }
  | { readonly do: "create"; readonly sandbox: Sandbox }
  | { readonly do: "change-sandbox"; readonly sandbox: Sandbox; readonly change: object }
  | { readonly do: "delete-sandbox"; readonly sandbox: Sandbox }
  | { readonly do: "delete-claim"; readonly foreground: boolean };

export interface Decision extends EngineDecision<Action, SandboxClaimStatus, ClaimMemory> {
  readonly events: readonly EventRecord[];
  /** The Sandbox that the claim has got since the last decision. */
  readonly served?: Sandbox;
}

/** A decision before the memory and the time of the status write are added. */
export type Verdict = Pick<Decision, "actions" | "status" | "events" | "requeueAt" | "error">;

export const nothingToDo: Verdict = { actions: [], events: [] };

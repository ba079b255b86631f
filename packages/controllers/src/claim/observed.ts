import type { NetworkPolicy, Sandbox, SandboxClaim, SandboxWarmPool } from "@agent-sandbox/api";
import type { Blueprint } from "../template/blueprint.ts";
import type { Problem } from "./problem.ts";

/** A Sandbox with the template it was made from. */
export interface Stamped {
  readonly sandbox: Sandbox;
  /** Absent when nobody knows. */
  readonly templateName: string | undefined;
  /** Absent when the template is gone. */
  readonly blueprint: Blueprint | undefined;
}

/** What the controller knows when it looks at one claim: plain data from caches. */
export interface Observed {
  readonly claim: SandboxClaim;
  /** The Sandboxes that the claim controls, the one it is bound to first. Normally none or one. */
  readonly owned: readonly Stamped[];
  /** A Sandbox that has the claim's name and is not the claim's. */
  readonly namesake: Sandbox | undefined;
  readonly pool: SandboxWarmPool | undefined;
  /** Of the pool's template. */
  readonly blueprint: Blueprint | undefined;
  /** The pool member promised to this claim. */
  readonly candidate: Stamped | undefined;
  /** Until when a member that is still starting is waited for. */
  readonly waitUntil?: number | undefined;
  /** A policy that earlier controllers made for the claim. */
  readonly legacyPolicy: NetworkPolicy | undefined;
  readonly labelDomains: readonly string[];
  /** What the claim is to carry about its start, for those who read that from the object. */
  readonly stamp?: Readonly<Record<string, string>>;
  /** What went wrong when the decided actions were carried out. */
  readonly failure?: Problem;
}

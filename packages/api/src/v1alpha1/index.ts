/** The deprecated version. It is served, and converted to v1beta1 for storage. */
export type { SandboxClaimStatus } from "../shapes/claim-shapes.ts";
export type { SandboxBlueprint } from "./blueprint.ts";
export type { Sandbox, SandboxSpec, SandboxStatus } from "./sandbox.ts";
export type { SandboxClaim, SandboxClaimSpec } from "./sandbox-claim.ts";
export type { SandboxTemplate, SandboxTemplateSpec } from "./sandbox-template.ts";
export type { SandboxWarmPool, SandboxWarmPoolSpec, SandboxWarmPoolStatus } from "./sandbox-warm-pool.ts";

/** The stored version, which all code except conversion uses. */
export type { ClaimedSandbox, EnvVar, Lifecycle, SandboxClaimStatus } from "../shapes/claim-shapes.ts";
export type { Condition, ConditionStatus } from "../shapes/condition.ts";
export type { ClaimShutdownPolicy, ShutdownPolicy } from "../shapes/expiry.ts";
export type { NamedMetadata, PodMetadata } from "../shapes/metadata.ts";
export type { NameReference, UpdateStrategy, UpdateStrategyType } from "../shapes/pool-shapes.ts";
export type {
  EnvVarsInjectionPolicy,
  NetworkPolicyManagement,
  NetworkPolicyRules,
} from "../shapes/template-policies.ts";
export type { PersistentVolumeClaimTemplate, PodTemplate } from "../shapes/templates.ts";
export type {
  IdleConnections,
  IdlePolicy,
  PersistentVolumeClaimRetentionPolicy,
  ResumePolicy,
  Runtime,
  SandboxBlueprint,
  VolumeClaimRetention,
} from "./blueprint.ts";
export type { OperatingMode, Sandbox, SandboxSpec, SandboxStatus } from "./sandbox.ts";
export type { SandboxClaim, SandboxClaimSpec } from "./sandbox-claim.ts";
export type { SandboxTemplate, SandboxTemplateSpec, VolumeClaimTemplatesPolicy } from "./sandbox-template.ts";
export type { SandboxWarmPool, SandboxWarmPoolSpec, SandboxWarmPoolStatus } from "./sandbox-warm-pool.ts";
export type {
  RestoredSnapshot,
  RestoreFrom,
  SuspendDepth,
  SuspendFallback,
  SuspendPolicy,
  SuspensionStatus,
} from "./suspension.ts";

export * from "./activity/index.ts";
export * from "./annotations.ts";
export type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceNames,
  CustomResourceVersion,
  PrinterColumn,
  ScaleSubresource,
} from "./custom-resource-definition.ts";
export {
  coreGroup,
  extensionsGroup,
  type KindResource,
  podSnapshots,
  podSnapshotsGroup,
  podSnapshotTriggers,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
  shadowPoolPrefix,
  snapshotsGroup,
} from "./kinds.ts";
export type * from "./kubernetes.ts";
export * from "./labels.ts";
export * from "./machine/machine-report.ts";
export * from "./primitives/index.ts";
export type { Json, StructuralSchema, ValidationRule, ValueSchema } from "./schema/structural-schema.ts";
export type * from "./snapshots/index.ts";
export * from "./state/driver.ts";
export * from "./state/injected-runtime.ts";
export * from "./state/saved-pod.ts";
export * from "./template-pool.ts";
export * from "./trouble/index.ts";
export type * as v1alpha1 from "./v1alpha1/index.ts";
export { type BlueprintChoices, blueprintChoices } from "./v1beta1/blueprint-defaults.ts";
export type * from "./v1beta1/index.ts";

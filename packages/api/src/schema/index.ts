/**
 * Structural schemas as in the Kubernetes API server: prune, default and validate any custom resource by its CRD. Pure functions
 * that never change their input.
 */
export { requireMetering } from "./cel/program.ts";
export { checkRules, type RuleCheck, ruleErrors } from "./cel/rules.ts";
export { applyDefaults } from "./defaults.ts";
export { type FieldError, type FieldErrorReason, formatFieldError } from "./field-error.ts";
export { prune, unknownFields } from "./prune.ts";
export { type QuickAdmission, quickAdmission } from "./quick-admission.ts";
export type { Dialect } from "./quick-shape.ts";
export type { Json, StructuralSchema, ValidationRule, ValueSchema } from "./structural-schema.ts";
export { type ValidateOptions, validate } from "./validate.ts";

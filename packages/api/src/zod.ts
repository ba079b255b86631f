/** The schemas of the kinds as zod values. A separate entry point, so that programs that need only the types do not load zod. */
export { kubernetesTypeKey } from "./shapes/object-schema.ts";
export * as snapshots from "./snapshots/schemas.ts";
export * as v1alpha1 from "./v1alpha1/schemas.ts";
export * as v1beta1 from "./v1beta1/schemas.ts";

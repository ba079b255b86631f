export type * from "./kubernetes.ts";
export type * as v1alpha1 from "./v1alpha1/index.ts";
export { type BlueprintChoices, blueprintChoices } from "./v1beta1/blueprint-defaults.ts";
export type * from "./v1beta1/index.ts";

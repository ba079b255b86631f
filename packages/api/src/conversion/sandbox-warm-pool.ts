import { v1alpha1SandboxWarmPoolStateAnnotation, v1beta1SandboxWarmPoolStateAnnotation } from "../annotations.ts";
import { extensionsGroup } from "../kinds.ts";
import * as v1alpha1 from "../v1alpha1/sandbox-warm-pool.ts";
import * as v1beta1 from "../v1beta1/sandbox-warm-pool.ts";
import { compareFields } from "./fields.ts";
import type { KindConversion } from "./kind-conversion.ts";

/** `replicas` is required in v1alpha1. In v1beta1 an absent value means 1. */
export const sandboxWarmPoolConversion: KindConversion = {
  group: extensionsGroup,
  kind: "SandboxWarmPool",
  fields: {
    spec: compareFields(v1alpha1.sandboxWarmPoolSpec, v1beta1.sandboxWarmPoolSpec),
    status: compareFields(v1alpha1.sandboxWarmPoolStatus, v1beta1.sandboxWarmPoolStatus),
  },
  v1alpha1State: v1alpha1SandboxWarmPoolStateAnnotation,
  v1beta1State: v1beta1SandboxWarmPoolStateAnnotation,
  upSpec: () => ({}),
  downSpec: ({ spec }) => ({ replicas: spec["replicas"] ?? 1 }),
  derived: {
    field: "replicas",
    shownAs: (alphaSpec) => ({ replicas: alphaSpec["replicas"] }),
    mustSave: (betaSpec) => betaSpec["replicas"] === undefined,
  },
};

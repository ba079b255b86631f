import {
  v1alpha1SandboxTemplateStateAnnotation,
  v1beta1SandboxTemplateStateAnnotation,
  v1beta1VolumeClaimTemplatesPolicyAnnotation,
} from "../annotations.ts";
import { extensionsGroup } from "../kinds.ts";
import * as v1alpha1 from "../v1alpha1/sandbox-template.ts";
import * as v1beta1 from "../v1beta1/sandbox-template.ts";
import { compareFields } from "./fields.ts";
import type { KindConversion } from "./kind-conversion.ts";

/** v1beta1 only adds fields. One of them has its own annotation, which is older than the state annotation. */
export const sandboxTemplateConversion: KindConversion = {
  group: extensionsGroup,
  kind: "SandboxTemplate",
  fields: {
    spec: compareFields(v1alpha1.sandboxTemplateSpec, v1beta1.sandboxTemplateSpec),
    status: compareFields(undefined, undefined),
  },
  v1alpha1State: v1alpha1SandboxTemplateStateAnnotation,
  v1beta1State: v1beta1SandboxTemplateStateAnnotation,
  upSpec: () => ({}),
  downSpec: () => ({}),
  ownAnnotations: { volumeClaimTemplatesPolicy: v1beta1VolumeClaimTemplatesPolicyAnnotation },
};

import * as z from "zod";
import type { ObjectMeta } from "../kubernetes.ts";
import { defaulted, objectOf } from "../shapes/object-schema.ts";
import {
  type EnvVarsInjectionPolicy,
  envVarsInjectionPolicies,
  type NetworkPolicyManagement,
  type NetworkPolicyRules,
  networkPolicyManagements,
  networkPolicyRules,
} from "../shapes/template-policies.ts";
import { blueprintFields, type SandboxBlueprint } from "./blueprint.ts";

export interface SandboxTemplateSpec extends SandboxBlueprint {
  networkPolicy?: NetworkPolicyRules;
  networkPolicyManagement?: NetworkPolicyManagement;
  envVarsInjectionPolicy?: EnvVarsInjectionPolicy;
}

export interface SandboxTemplate {
  apiVersion: "extensions.agents.x-k8s.io/v1alpha1";
  kind: "SandboxTemplate";
  metadata: ObjectMeta;
  spec: SandboxTemplateSpec;
}

export const sandboxTemplateSpec: z.ZodType<SandboxTemplateSpec> = objectOf<SandboxTemplateSpec>({
  ...blueprintFields,
  networkPolicy: networkPolicyRules
    .exactOptional()
    .describe(
      "Rules that replace the default rules of the NetworkPolicy. Ignored when networkPolicyManagement is Unmanaged.",
    ),
  networkPolicyManagement: defaulted<NetworkPolicyManagement>(z.enum(networkPolicyManagements), "Managed").describe(
    "Whether the controller manages a NetworkPolicy for the Sandboxes of the template.",
  ),
  envVarsInjectionPolicy: defaulted<EnvVarsInjectionPolicy>(z.enum(envVarsInjectionPolicies), "Disallowed").describe(
    "Whether claims may set environment variables: not at all (Disallowed), add new ones (Allowed), or also replace those of the template (Overrides).",
  ),
});

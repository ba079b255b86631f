import * as z from "zod";
import type { NetworkPolicyEgressRule, NetworkPolicyIngressRule } from "../kubernetes.ts";
import { kubernetesType, listOf, objectOf } from "./object-schema.ts";

/** Whether the controller owns a NetworkPolicy for the Sandboxes of a template. */
export const networkPolicyManagements = ["Managed", "Unmanaged"] as const;
export type NetworkPolicyManagement = (typeof networkPolicyManagements)[number];

/** Whether a claim may add environment variables (Allowed), and replace those of the template (Overrides). */
export const envVarsInjectionPolicies = ["Allowed", "Overrides", "Disallowed"] as const;
export type EnvVarsInjectionPolicy = (typeof envVarsInjectionPolicies)[number];

/** Rules that replace the default rules of a managed NetworkPolicy. */
export interface NetworkPolicyRules {
  ingress?: NetworkPolicyIngressRule[];
  egress?: NetworkPolicyEgressRule[];
}

export const networkPolicyRules: z.ZodType<NetworkPolicyRules> = objectOf<NetworkPolicyRules>({
  ingress: listOf(kubernetesType<NetworkPolicyIngressRule>("io.k8s.api.networking.v1.NetworkPolicyIngressRule"))
    .exactOptional()
    .describe("The ingress rules of the Sandboxes."),
  egress: listOf(kubernetesType<NetworkPolicyEgressRule>("io.k8s.api.networking.v1.NetworkPolicyEgressRule"))
    .exactOptional()
    .describe("The egress rules of the Sandboxes."),
});

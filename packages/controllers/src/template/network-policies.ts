import type { NetworkPolicy } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";

export const networkPolicies: Resource<NetworkPolicy> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

const suffix = "-network-policy";

/** The one policy of a template. */
export function policyNameOf(templateName: string): string {
  return `${templateName}${suffix}`;
}

/** The template whose policy would have that name. */
export function templateNameOf(policyName: string): string | undefined {
  return policyName.endsWith(suffix) ? policyName.slice(0, -suffix.length) : undefined;
}

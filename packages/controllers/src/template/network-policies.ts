import { type NetworkPolicy, nameHash } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";

export const networkPolicies: Resource<NetworkPolicy> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

const suffix = "-network-policy";
const longestName = 253;

/** The name of the template's policy. A name that would be too long is cut and gets the hash of the template's name. */
export function policyNameOf(templateName: string): string {
  const name = `${templateName}${suffix}`;
  if (name.length <= longestName) return name;
  const end = `-${nameHash(templateName)}${suffix}`;
  return `${templateName.slice(0, longestName - end.length)}${end}`;
}

/** The template whose policy has this name, unless the name had to be cut. */
export function templateNameOf(policyName: string): string | undefined {
  return policyName.endsWith(suffix) ? policyName.slice(0, -suffix.length) : undefined;
}

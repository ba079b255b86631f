import type { PodSpec, SandboxTemplate } from "@agent-sandbox/api";
import { isManaged } from "./desired-policy.ts";

/** The default NetworkPolicy blocks the cluster's DNS, so Pods use public name servers. */
const publicNameservers = ["8.8.8.8", "1.1.1.1"];

/**
 * The Pod spec of a Sandbox created from a template, with secure values for fields that the template does not set. A Sandbox
 * that a user creates directly keeps the spec its author wrote.
 */
export function withSecureDefaults(template: SandboxTemplate): PodSpec {
  const { spec } = template.spec.podTemplate;
  return { ...spec, automountServiceAccountToken: spec.automountServiceAccountToken ?? false, ...dnsOf(template) };
}

/** Adds nothing when the author set a DNS policy or network rules. A `dnsConfig` in the template is kept. */
function dnsOf(template: SandboxTemplate): Pick<PodSpec, "dnsPolicy" | "dnsConfig"> {
  const { networkPolicy, podTemplate } = template.spec;
  const { dnsPolicy, dnsConfig } = podTemplate.spec;
  if (!isManaged(template) || networkPolicy !== undefined || dnsPolicy) return {};
  const nameservers = dnsConfig?.nameservers?.length ? dnsConfig.nameservers : publicNameservers;
  return { dnsPolicy: "None", dnsConfig: { ...dnsConfig, nameservers } };
}

import type { PodSpec, SandboxTemplate } from "@agent-sandbox/api";
import { isManaged } from "./desired-policy.ts";

/** The default policy closes the way to the cluster's DNS, so names are resolved by public servers. */
const publicNameservers = ["8.8.8.8", "1.1.1.1"];

/**
 * The Pod spec of a Sandbox stamped from a template: what the template leaves open is closed. A Sandbox that nobody stamped
 * is left as its author wrote it.
 */
export function withSecureDefaults(template: SandboxTemplate): PodSpec {
  const { spec } = template.spec.podTemplate;
  return { ...spec, automountServiceAccountToken: spec.automountServiceAccountToken ?? false, ...dnsOf(template) };
}

/** Nothing to add where the author chose a DNS policy or network rules of their own. A `dnsConfig` they wrote is kept. */
function dnsOf(template: SandboxTemplate): Pick<PodSpec, "dnsPolicy" | "dnsConfig"> {
  const { networkPolicy, podTemplate } = template.spec;
  const { dnsPolicy, dnsConfig } = podTemplate.spec;
  if (!isManaged(template) || networkPolicy !== undefined || dnsPolicy) return {};
  const nameservers = dnsConfig?.nameservers?.length ? dnsConfig.nameservers : publicNameservers;
  return { dnsPolicy: "None", dnsConfig: { ...dnsConfig, nameservers } };
}

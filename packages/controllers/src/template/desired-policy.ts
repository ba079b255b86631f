import {
  controllerReference,
  type NetworkPolicy,
  type NetworkPolicyEgressRule,
  type NetworkPolicyIngressRule,
  nameHash,
  type SandboxTemplate,
  sandboxTemplateRefHashLabel,
  sandboxTemplates,
} from "@agent-sandbox/api";
import { policyNameOf } from "./network-policies.ts";

/** Selects the router's Pods, the only peers that may connect to a Sandbox by default. */
export interface RouterPlace {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

export const defaultRouterPlace: RouterPlace = { namespace: "agent-sandbox-system", labels: { app: "sandbox-router" } };

export function isManaged({ spec }: SandboxTemplate): boolean {
  return spec.networkPolicyManagement !== "Unmanaged";
}

export function desiredPolicy(template: SandboxTemplate, router: RouterPlace): NetworkPolicy {
  const { name = "", namespace = "" } = template.metadata;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: policyNameOf(name),
      namespace,
      ownerReferences: [controllerReference(sandboxTemplates, template)],
    },
    spec: desiredSpec(template, router),
  };
}

/** Lists both policy types, so that a direction without rules denies all traffic. */
export function desiredSpec(template: SandboxTemplate, router: RouterPlace): NonNullable<NetworkPolicy["spec"]> {
  const rules = template.spec.networkPolicy;
  return {
    podSelector: { matchLabels: { [sandboxTemplateRefHashLabel]: nameHash(template.metadata.name ?? "") } },
    policyTypes: ["Ingress", "Egress"],
    ingress: rules === undefined ? [fromRouter(router)] : (rules.ingress ?? []).map(withProtocols),
    egress: rules === undefined ? [toInternet] : (rules.egress ?? []).map(withProtocols),
  };
}

function fromRouter({ namespace, labels }: RouterPlace): NetworkPolicyIngressRule {
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  return { from: [{ namespaceSelector, podSelector: { matchLabels: { ...labels } } }] };
}

/** Public addresses only: no other Pods, no Services (so no cluster DNS), no cloud metadata server. */
const toInternet: NetworkPolicyEgressRule = {
  to: [
    { ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"] } },
    { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
  ],
};

/** The API server stores the default protocol, so the desired spec must contain it to compare equal. */
function withProtocols<R extends NetworkPolicyIngressRule | NetworkPolicyEgressRule>(rule: R): R {
  if (rule.ports === undefined) return rule;
  return { ...rule, ports: rule.ports.map((port) => ({ ...port, protocol: port.protocol ?? "TCP" })) };
}

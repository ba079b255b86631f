import { type PodMetadata, safeToEvictAnnotation } from "@agent-sandbox/api";

/** The default domains of labels that claims may add. */
export const defaultLabelDomains: readonly string[] = ["sandbox.users.io"];

/** Reserved for this system and Kubernetes. */
const closedAnnotationDomains = ["kubernetes.io", "k8s.io", "agents.x-k8s.io"];

const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/**
 * Why a claim may not add this metadata to its Pod, or undefined. Labels select Pods for NetworkPolicies and Services, so only
 * labels of the domains that are open to users are allowed.
 */
export function refuseMetadata(
  metadata: PodMetadata | undefined,
  labelDomains: readonly string[] = defaultLabelDomains,
): string | undefined {
  for (const [key, value] of Object.entries(metadata?.labels ?? {})) {
    const refusal = refuseLabel(key, value, labelDomains);
    if (refusal !== undefined) return `Cannot add label "${key}": ${refusal}`;
  }
  for (const key of Object.keys(metadata?.annotations ?? {})) {
    const refusal = refuseAnnotation(key);
    if (refusal !== undefined) return `Cannot add annotation "${key}": ${refusal}`;
  }
  return undefined;
}

function refuseLabel(key: string, value: unknown, open: readonly string[]): string | undefined {
  if (typeof value !== "string") return "its value is no label value";
  if (key.toLowerCase() === "app" && value.toLowerCase() === "sandbox-router") return "it is the router's";
  if (!isQualified(key)) return "its key is no qualified name";
  const domain = domainOf(key);
  if (domain === undefined) return `it needs a domain: ${open.join(", ")}`;
  if (!isWithin(domain, open)) return `its domain is not open to claims: use ${open.join(", ")}`;
  if (value !== "" && (value.length > 63 || !namePart.test(value))) return "its value is no label value";
  return undefined;
}

function refuseAnnotation(key: string): string | undefined {
  // Kubernetes accepts annotation keys in upper and lower case.
  if (!isQualified(key.toLowerCase())) return "its key is no qualified name";
  if (key === safeToEvictAnnotation) return undefined;
  const domain = domainOf(key);
  return domain !== undefined && isWithin(domain, closedAnnotationDomains) ? "its domain is reserved" : undefined;
}

function isQualified(key: string): boolean {
  const slash = key.indexOf("/");
  const [prefix, name] = slash < 0 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)];
  if (prefix !== undefined && (prefix.length > 253 || !dnsSubdomain.test(prefix))) return false;
  return name.length <= 63 && namePart.test(name);
}

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash < 0 ? undefined : key.slice(0, slash).toLowerCase();
}

function isWithin(domain: string, domains: readonly string[]): boolean {
  return domains.some((known) => domain === known || domain.endsWith(`.${known}`));
}

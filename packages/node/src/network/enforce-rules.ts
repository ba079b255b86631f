import type { FirewallContent } from "./firewall.ts";

export interface Enforcer {
  /** Replaces the rules. Throws if `nft` refuses them; then nothing has changed. */
  enforce(content: FirewallContent): Promise<void>;
  /** Whether `nft` would accept the rules. */
  accepts(content: FirewallContent): Promise<boolean>;
}

/**
 * Applies the rules of all namespaces. If `nft` refuses them, it finds the namespaces whose rules are refused, closes their
 * Pods in both directions, drops their Services, and applies the rules of all others. Returns the refused namespaces.
 */
export async function enforceRules(content: FirewallContent, enforcer: Enforcer): Promise<readonly string[]> {
  try {
    await enforcer.enforce(content);
    return [];
  } catch (error) {
    const refused = await refusedOf(namespacesOf(content), (some) => enforcer.accepts(onlyOf(content, some)));
    if (refused.length === 0 || !(await enforcer.accepts(onlyOf(content, new Set())))) throw error;
    await enforcer.enforce(withoutOf(content, refused));
    return refused;
  }
}

/** Binary search: finds a few refused namespaces among many in a few attempts. */
async function refusedOf(
  namespaces: readonly string[],
  accepts: (some: ReadonlySet<string>) => Promise<boolean>,
): Promise<string[]> {
  if (namespaces.length === 0 || (await accepts(new Set(namespaces)))) return [];
  if (namespaces.length === 1) return [...namespaces];
  const half = Math.ceil(namespaces.length / 2);
  return [
    ...(await refusedOf(namespaces.slice(0, half), accepts)),
    ...(await refusedOf(namespaces.slice(half), accepts)),
  ];
}

function namespacesOf({ policies, serviceAddresses }: FirewallContent): string[] {
  return [...new Set([...policies, ...serviceAddresses].map(({ namespace }) => namespace))];
}

/** The rules without those of some namespaces, whose Pods are closed in both directions. */
export function withoutOf(content: FirewallContent, refused: readonly string[]): FirewallContent {
  if (refused.length === 0) return content;
  const left = new Set(namespacesOf(content).filter((namespace) => !refused.includes(namespace)));
  return onlyOf(content, left);
}

function onlyOf(content: FirewallContent, some: ReadonlySet<string>): FirewallContent {
  const nothing: [] = [];
  return {
    ...content,
    policies: content.policies.map((policy) =>
      some.has(policy.namespace) ? policy : { ...policy, ingress: nothing, egress: nothing },
    ),
    serviceAddresses: content.serviceAddresses.filter(({ namespace }) => some.has(namespace)),
  };
}

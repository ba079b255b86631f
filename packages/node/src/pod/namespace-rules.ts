import type { KubeObject } from "@agent-sandbox/kube";
import type { NodeRules } from "./observed.ts";

/**
 * An annotation of Namespaces: the comma-separated runtimes that their Pods may use, in place of the box's list. The roles
 * `view`, `edit` and `admin` cannot write Namespaces, so a tenant cannot set it.
 */
export const allowedRuntimesAnnotation = "agents.x-k8s.io/allowed-runtimes";

/** Further names are ignored. No machine has as many runtimes. */
const mostNames = 20;

/** The rules for the Pods of a namespace. Unknown runtime names are ignored. */
export function rulesIn(rules: NodeRules, namespace: KubeObject | undefined): NodeRules {
  const text = namespace?.metadata?.annotations?.[allowedRuntimesAnnotation];
  if (text === undefined) return rules;
  const names = text.split(",", mostNames).map((name) => name.trim());
  const allowedRuntimes = rules.runtimes.filter((name) => names.includes(name));
  const defaultRuntime = allowedRuntimes.includes(rules.defaultRuntime) ? rules.defaultRuntime : allowedRuntimes[0];
  return { ...rules, allowedRuntimes, defaultRuntime: defaultRuntime ?? rules.defaultRuntime };
}

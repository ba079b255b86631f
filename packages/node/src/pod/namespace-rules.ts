import type { KubeObject } from "@agent-sandbox/kube";
import type { NodeRules } from "./observed.ts";

/**
 * On a Namespace: the runtimes that its Pods may use, with commas between, in place of the box's own list. The roles
 * `view`, `edit` and `admin` of a namespace do not allow writing Namespaces, so a tenant cannot set it.
 */
export const allowedRuntimesAnnotation = "agents.x-k8s.io/allowed-runtimes";

/** More are not read: no machine has as many. */
const mostNames = 20;

/** The rules for the Pods of a namespace. Names of runtimes that this machine does not have allow nothing. */
export function rulesIn(rules: NodeRules, namespace: KubeObject | undefined): NodeRules {
  const text = namespace?.metadata?.annotations?.[allowedRuntimesAnnotation];
  if (text === undefined) return rules;
  const names = text.split(",", mostNames).map((name) => name.trim());
  const allowedRuntimes = rules.runtimes.filter((name) => names.includes(name));
  const defaultRuntime = allowedRuntimes.includes(rules.defaultRuntime) ? rules.defaultRuntime : allowedRuntimes[0];
  return { ...rules, allowedRuntimes, defaultRuntime: defaultRuntime ?? rules.defaultRuntime };
}

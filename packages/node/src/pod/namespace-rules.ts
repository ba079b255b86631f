import type { Pod } from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject } from "@agent-sandbox/kube";
import { namespaces } from "../resources.ts";
import type { NodeRules } from "./observed.ts";
import { runtimesSoFar } from "./pod-runtime.ts";
import type { PodRecord } from "./record.ts";

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

interface Sources {
  /** The rules of the node. */
  readonly rules: NodeRules;
  readonly client: Client;
  readonly cached: { get(name: string): KubeObject | undefined };
}

/**
 * The rules for a Pod. The cached Namespace may be older than the Pod, so the rules of a Pod that has not run yet are read
 * from the API server.
 */
export async function rulesFor(
  { pod, record }: { readonly pod: Pod | undefined; readonly record: PodRecord | undefined },
  { rules, client, cached }: Sources,
): Promise<NodeRules> {
  const name = pod?.metadata?.namespace;
  if (name === undefined) return rules;
  if (record !== undefined && runtimesSoFar(record).length > 0) return rulesIn(rules, cached.get(name));
  const namespace = await client.get(namespaces, { name }).catch((error: unknown) => {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  });
  return rulesIn(rules, namespace);
}

import {
  type NetworkPolicy,
  nameHash,
  type Sandbox,
  type SandboxTemplate,
  sandboxes,
  sandboxTemplateRefHashLabel,
  sandboxTemplates,
} from "@agent-sandbox/api";
import {
  type Client,
  type Index,
  type Informer,
  type Informers,
  keyOf,
  parseKey,
  type Scope,
} from "@agent-sandbox/kube";
import { ignoreNotFound } from "../guard.ts";
import type { RouterPlace } from "./desired-policy.ts";
import type { LostPolicies } from "./lost-policies.ts";
import { networkPolicies, policyNameOf } from "./network-policies.ts";

/** What the controller knows about one template name. */
export interface Observed {
  readonly templateName: string;
  /** Undefined when the template does not exist. */
  readonly template: SandboxTemplate | undefined;
  /** The object with the name of the template's policy, whoever owns it. */
  readonly policy: NetworkPolicy | undefined;
  /** The policy that was deleted while this template controlled it. */
  readonly lostPolicy: NetworkPolicy | undefined;
  /** How many Sandboxes were created from the template. */
  readonly sandboxes: number;
  readonly router: RouterPlace;
  /** Whether the cache still shows a template that the API server does not have. */
  readonly isCacheBehind: boolean;
}

export interface Caches {
  readonly templates: Informer<SandboxTemplate>;
  readonly policies: Informer<NetworkPolicy>;
  readonly sandboxes: Informer<Sandbox>;
  readonly sandboxesByTemplate: Index<Sandbox>;
}

export function openCaches(informers: Informers, scope: Pick<Scope, "namespace">): Caches {
  const sandboxCache = informers.get(sandboxes, scope);
  return {
    templates: informers.get(sandboxTemplates, scope),
    policies: informers.get(networkPolicies, scope),
    sandboxes: sandboxCache,
    sandboxesByTemplate: sandboxCache.index("template-ref-hash", templateRefsOf),
  };
}

function templateRefsOf({ metadata }: Sandbox): string[] {
  const hash = metadata.labels?.[sandboxTemplateRefHashLabel];
  return hash === undefined ? [] : [`${metadata.namespace} ${hash}`];
}

/**
 * A policy that was deleted may have been collected with its template, which the cache of templates may still show. Then the
 * template is read from the API server: a policy created for a template that is gone would be collected again, endlessly.
 */
export async function observe(
  key: string,
  caches: Caches,
  { client, lost, router }: { readonly client: Client; readonly lost: LostPolicies; readonly router: RouterPlace },
): Promise<Observed> {
  const { name, namespace = "" } = parseKey(key);
  const cached = caches.templates.get(key);
  const lostPolicy = lost.get(key);
  const template =
    cached !== undefined && lostPolicy !== undefined
      ? await client.get(sandboxTemplates, { namespace, name }).catch(ignoreNotFound)
      : cached;
  return {
    templateName: name,
    template,
    policy: caches.policies.get(keyOf({ namespace, name: policyNameOf(name) })),
    lostPolicy,
    sandboxes: caches.sandboxesByTemplate.count(`${namespace} ${nameHash(name)}`),
    router,
    isCacheBehind: cached !== undefined && template === undefined,
  };
}

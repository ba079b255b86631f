import { sandboxClaims, sandboxNameHashLabel, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import type { Informers, Scope } from "@agent-sandbox/kube";
import { openCaches } from "./sandbox/observe.ts";
import type { ControllersOptions } from "./start-controllers.ts";
import { networkPolicies } from "./template/network-policies.ts";

/**
 * Opens the caches that all controllers wait for, so that controllers which start soon afterwards with these informers need not list
 * everything first. Reads only.
 */
export function fillCaches(
  informers: Informers,
  options: Pick<ControllersOptions, "namespace" | "extensions" | "onlyLabelledChildren">,
): void {
  const scope: Scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const children = options.onlyLabelledChildren === true ? { ...scope, labelSelector: sandboxNameHashLabel } : scope;
  openCaches(informers, scope, children);
  if (options.extensions === false) return;
  informers.get(sandboxClaims, scope);
  informers.get(sandboxWarmPools, scope);
  informers.get(sandboxTemplates, scope);
  informers.get(networkPolicies, scope);
}

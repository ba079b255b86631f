import type { SandboxWarmPool } from "@agent-sandbox/api";
import { type Index, type Informer, keyOf } from "@agent-sandbox/kube";

/** Pools by the key of the template they refer to, which is in their own namespace. */
export function indexByTemplate(pools: Informer<SandboxWarmPool>): Index<SandboxWarmPool> {
  return pools.index("template", templateKeysOf);
}

function templateKeysOf({ metadata, spec }: SandboxWarmPool): string[] {
  return [keyOf({ namespace: metadata.namespace ?? "", name: spec.sandboxTemplateRef.name })];
}

import {
  controllerOf,
  deepEqual,
  findCondition,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxClaims,
} from "@agent-sandbox/api";
import {
  type Delta,
  type Informer,
  keyOf,
  objectKey,
  type Trigger,
  watching,
  watchingOwned,
} from "@agent-sandbox/kube";
import { changesSpec } from "../changes-spec.ts";

import { indexByTemplate } from "../warm-pool/pools-by-template.ts";
import type { ClaimCaches } from "./observe.ts";

/** What enqueues a claim, besides changes of the claim itself. */
export function claimTriggers(claims: Informer<SandboxClaim>, caches: ClaimCaches): Trigger[] {
  const { sandboxes, pools, templates, policies } = caches;
  const byPool = claims.index("pool", poolFacetsOf);
  const poolsByTemplate = indexByTemplate(pools);
  const claimsOf = (pool: SandboxWarmPool, which: "all" | "unbound"): string[] =>
    byPool.get(`${objectKey(pool)} ${which}`).map(objectKey);
  const throughPools = (template: SandboxTemplate, which: "all" | "unbound"): string[] =>
    poolsByTemplate.get(objectKey(template)).flatMap((pool) => claimsOf(pool, which));
  return [
    watchingOwned(sandboxes, sandboxClaims, { skipOwnWrites: true, when: changesClaimed }),
    // A Sandbox of another owner that had the claim's name is gone.
    watching(sandboxes, (sandbox) => [objectKey(sandbox)], {
      when: ({ key, new: now }) => now === undefined && claims.get(key) !== undefined,
    }),
    watching(pools, (pool) => claimsOf(pool, "unbound"), { when: changesSpec }),
    // A template that is created again restores the metadata of running Sandboxes.
    watching(templates, (template) => throughPools(template, "all"), { when: ({ old }) => old === undefined }),
    // A changed template may allow what it refused before.
    watching(templates, (template) => throughPools(template, "unbound"), {
      when: (delta) => delta.old !== undefined && delta.new !== undefined && changesSpec(delta),
    }),
    watchingOwned(policies, sandboxClaims),
  ];
}

function poolFacetsOf({ metadata, spec, status }: SandboxClaim): string[] {
  if (metadata.deletionTimestamp !== undefined) return [];
  const pool = keyOf({ namespace: metadata.namespace ?? "", name: spec.warmPoolRef.name });
  return [`${pool} all`, ...(status?.sandbox?.name ? [] : [`${pool} unbound`])];
}

/** Whether the change can affect the claim's status or what the claim does to its Sandbox. */
export function changesClaimed({ old, new: now }: Delta<Sandbox>): boolean {
  if (old === undefined || now === undefined) return true;
  return (
    controllerOf(old)?.uid !== controllerOf(now)?.uid ||
    (old.metadata.deletionTimestamp === undefined) !== (now.metadata.deletionTimestamp === undefined) ||
    !deepEqual(old.status?.podIPs ?? [], now.status?.podIPs ?? []) ||
    !deepEqual(readyOf(old), readyOf(now)) ||
    !deepEqual(findCondition(old.status?.conditions, "Finished"), findCondition(now.status?.conditions, "Finished"))
  );
}

/** Without observedGeneration, which the claim does not repeat. */
function readyOf({ status }: Sandbox): object | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  return ready && { ...ready, observedGeneration: undefined };
}

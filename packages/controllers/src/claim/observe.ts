import {
  controllerOf,
  extensionsGroup,
  isControlledBy,
  type NetworkPolicy,
  refersToKind,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxTemplateRefAnnotation,
} from "@agent-sandbox/api";
import { type Index, type Informer, keyOf, objectKey } from "@agent-sandbox/kube";
import { type Blueprint, understand } from "../template/blueprint.ts";
import { policyNameOf } from "../template/network-policies.ts";
import { isStale } from "../warm-pool/staleness.ts";
import { refuseMetadata } from "./additional-metadata.ts";
import type { Candidates } from "./candidates.ts";
import { poolIdOf } from "./free-members.ts";
import { expiryOf } from "./lifecycle.ts";
import type { Observed, Stamped } from "./observed.ts";
import { errorSeen } from "./problem.ts";
import { referenceOf } from "./reference.ts";

/** Where a claim's surroundings are read. */
export interface ClaimCaches {
  readonly sandboxes: Informer<Sandbox>;
  readonly ownedSandboxes: Index<Sandbox>;
  readonly pools: Informer<SandboxWarmPool>;
  readonly templates: Informer<SandboxTemplate>;
  readonly policies: Informer<NetworkPolicy>;
  readonly candidates: Candidates;
  readonly labelDomains: readonly string[];
  /** How long a claim waits for a pool member that is still starting. */
  readonly patienceMs: number;
}

/** Sandboxes by the claim that controls them. */
export function indexOwned(sandboxes: Informer<Sandbox>): Index<Sandbox> {
  return sandboxes.index("claim", ownerIdsOf);
}

function ownerIdsOf(sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  if (owner === undefined || !refersToKind(owner, { group: extensionsGroup, kind: "SandboxClaim" })) return [];
  return [`${sandbox.metadata.namespace}/${owner.uid}`];
}

/** Gathers what is known of a claim, and has a pool member promised to it when it needs one. */
export function observe(
  claim: SandboxClaim,
  caches: ClaimCaches,
  { now, waitedMs }: { now: number /** How long the claim is known. */; waitedMs: number },
): Observed {
  const { namespace = "", name = "", uid } = claim.metadata;
  const pool = caches.pools.get(keyOf({ namespace, name: claim.spec?.warmPoolRef?.name ?? "" }));
  const poolTemplate = pool?.spec?.sandboxTemplateRef?.name;
  const read = (templateName: string | undefined): { blueprint?: Blueprint; problem?: string } => {
    const template = templateName && caches.templates.get(keyOf({ namespace, name: templateName }));
    return template ? understand(template) : {};
  };
  const stamp = (sandbox: Sandbox): Stamped => {
    const templateName = sandbox.metadata.annotations?.[sandboxTemplateRefAnnotation] ?? poolTemplate;
    return { sandbox, templateName, blueprint: read(templateName).blueprint };
  };
  const { blueprint, problem } = read(poolTemplate);
  const namesake = caches.sandboxes.get(keyOf({ namespace, name }));
  const policy = caches.policies.get(keyOf({ namespace, name: policyNameOf(name) }));
  const seen: Observed = {
    claim,
    owned: boundFirst(claim, caches.ownedSandboxes.get(`${namespace}/${uid}`)).map(stamp),
    namesake: namesake && !isControlledBy(namesake, uid) ? namesake : undefined,
    pool,
    blueprint,
    candidate: undefined,
    legacyPolicy: policy && isControlledBy(policy, uid) ? policy : undefined,
    labelDomains: caches.labelDomains,
    ...(problem !== undefined && { failure: errorSeen(problem) }),
  };
  return pool === undefined || !needsMember(seen, now)
    ? seen
    : seekMember(seen, pool, { caches, stamp, now, waitedMs });
}

/** The Sandbox that the status names; else the oldest, so that every controller would choose the same. */
function boundFirst({ status }: SandboxClaim, owned: readonly Sandbox[]): readonly Sandbox[] {
  if (owned.length < 2) return owned;
  const rank = ({ metadata }: Sandbox): string =>
    `${metadata.name === status?.sandbox?.name ? 0 : 1} ${metadata.creationTimestamp} ${metadata.name}`;
  return owned.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** Whether a pool could serve the claim now. */
function needsMember({ claim, owned, labelDomains }: Observed, now: number): boolean {
  const { lifecycle, additionalPodMetadata } = claim.spec ?? {};
  const expiry = expiryOf(lifecycle, claim.status?.conditions);
  if (owned.length > 0 || claim.metadata.deletionTimestamp !== undefined) return false;
  if (expiry !== undefined && expiry <= now) return false;
  return refuseMetadata(additionalPodMetadata, labelDomains) === undefined;
}

interface Search {
  readonly caches: ClaimCaches;
  readonly stamp: (sandbox: Sandbox) => Stamped;
  readonly now: number;
  readonly waitedMs: number;
}

function seekMember(seen: Observed, pool: SandboxWarmPool, { caches, stamp, now, waitedMs }: Search): Observed {
  const { claim, blueprint, namesake } = seen;
  const { candidates, patienceMs } = caches;
  const key = objectKey(claim);
  const poolId = poolIdOf(pool.metadata.namespace, pool.metadata.uid);
  const reference = referenceOf(claim);
  const noted = reference && keyOf({ namespace: claim.metadata.namespace ?? "", name: reference.name });
  const promised = noted === undefined ? undefined : candidates.takeNamed(noted, poolId, key);
  if (promised !== undefined) return { ...seen, candidate: stamp(promised) };
  // What the claim wants to change can only be in a new Sandbox.
  const isSpecial = (claim.spec.env?.length ?? 0) > 0 || (claim.spec.volumeClaimTemplates?.length ?? 0) > 0;
  if (isSpecial || namesake !== undefined) return seen;
  const rolls = pool.spec?.updateStrategy?.type === "Recreate";
  const accepts = (sandbox: Sandbox): boolean => !rolls || (blueprint !== undefined && !isStale(sandbox, blueprint));
  const member = candidates.take(poolId, key, accepts);
  if (member !== undefined) return { ...seen, candidate: stamp(member) };
  if (waitedMs < patienceMs && candidates.wait(poolId, key)) return { ...seen, waitUntil: now + patienceMs - waitedMs };
  return seen;
}

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
import { type Index, type Informer, keyOf } from "@agent-sandbox/kube";
import { type Blueprint, understand } from "../template/blueprint.ts";
import { policyNameOf } from "../template/network-policies.ts";
import type { TemplateSnapshots } from "../template/template-snapshots.ts";
import { errorSeen, type Problem } from "./problem.ts";

/** A Sandbox with the template it was created from. */
export interface Stamped {
  readonly sandbox: Sandbox;
  /** Undefined when it is unknown. */
  readonly templateName: string | undefined;
  /** Undefined when the template is gone. */
  readonly blueprint: Blueprint | undefined;
}

/** The answer to the action `reserve`. */
export type Reservation =
  | { readonly type: "member"; readonly member: Stamped }
  /** The claim is queued for a member that is still starting. */
  | { readonly type: "queued" }
  | { readonly type: "none" };

export interface ClaimSettings {
  /** Domains of the labels that claims may add to their Pods. */
  readonly labelDomains: readonly string[];
  /** How long a claim waits for a pool member that is still starting. */
  readonly patienceMs: number;
  /** Whether claims are annotated with the time they were first observed. */
  readonly stampClaims: boolean;
}

/** What the controller knows about one claim: plain data from caches. */
export interface Observed {
  readonly claim: SandboxClaim;
  /** The Sandboxes that the claim controls, the one it is bound to first. Normally none or one. */
  readonly owned: readonly Stamped[];
  /** A Sandbox that has the claim's name and is not controlled by it. */
  readonly namesake: Sandbox | undefined;
  readonly pool: SandboxWarmPool | undefined;
  /** Of the pool's template. */
  readonly blueprint: Blueprint | undefined;
  /** A NetworkPolicy that earlier versions of the controller created for the claim. */
  readonly legacyPolicy: NetworkPolicy | undefined;
  readonly settings: ClaimSettings;
  /** When this was observed, by a clock that never jumps. */
  readonly uptimeMs: number;
  /** How far this machine's clock is ahead of the API server's. */
  readonly clockAheadMs: number;
  /** Undefined until the pass has asked for a pool member. */
  readonly reservation?: Reservation;
  /** The reserved member changed before it could be adopted. */
  readonly conflict?: { readonly member: Sandbox; readonly error: unknown };
  /** The claim changed before its record could be written: the next pass observes it again. */
  readonly isOutdated?: boolean;
  /** The context of a trace that the claim does not record yet. */
  readonly unrecordedTrace?: string;
  /** Why the pool's template cannot be understood, or why an action failed. */
  readonly failure?: Problem;
}

export interface ClaimCaches {
  readonly sandboxes: Informer<Sandbox>;
  readonly ownedSandboxes: Index<Sandbox>;
  readonly pools: Informer<SandboxWarmPool>;
  readonly templates: Informer<SandboxTemplate>;
  readonly policies: Informer<NetworkPolicy>;
  readonly snapshots: Pick<TemplateSnapshots, "uidFor">;
}

/** Indexes Sandboxes by the claim that controls them. */
export function indexOwned(sandboxes: Informer<Sandbox>): Index<Sandbox> {
  return sandboxes.index("claim", ownerIdsOf);
}

function ownerIdsOf(sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  if (owner === undefined || !refersToKind(owner, { group: extensionsGroup, kind: "SandboxClaim" })) return [];
  return [`${sandbox.metadata.namespace}/${owner.uid}`];
}

export function observe(
  claim: SandboxClaim,
  caches: ClaimCaches,
  known: Pick<Observed, "settings" | "uptimeMs" | "clockAheadMs">,
): Observed {
  const { namespace = "", name = "", uid } = claim.metadata;
  const pool = caches.pools.get(keyOf({ namespace, name: claim.spec?.warmPoolRef?.name ?? "" }));
  const { blueprint, problem } = readTemplate(caches, namespace, pool?.spec?.sandboxTemplateRef?.name);
  const namesake = caches.sandboxes.get(keyOf({ namespace, name }));
  const policy = caches.policies.get(keyOf({ namespace, name: policyNameOf(name) }));
  const owned = boundFirst(claim, caches.ownedSandboxes.get(`${namespace}/${uid}`));
  return {
    claim,
    owned: owned.map((sandbox) => stamp(sandbox, pool, caches)),
    namesake: namesake && !isControlledBy(namesake, uid) ? namesake : undefined,
    pool,
    blueprint,
    legacyPolicy: policy && isControlledBy(policy, uid) ? policy : undefined,
    ...known,
    ...(problem !== undefined && { failure: errorSeen(problem) }),
  };
}

/** Finds the template that a Sandbox was created from: the one that its annotation names, else the pool's. */
export function stamp(sandbox: Sandbox, pool: SandboxWarmPool | undefined, caches: ClaimCaches): Stamped {
  const { annotations, namespace = "" } = sandbox.metadata;
  const templateName = annotations?.[sandboxTemplateRefAnnotation] ?? pool?.spec?.sandboxTemplateRef?.name;
  return { sandbox, templateName, blueprint: readTemplate(caches, namespace, templateName).blueprint };
}

function readTemplate(
  { templates }: ClaimCaches,
  namespace: string,
  name: string | undefined,
): { blueprint?: Blueprint; problem?: string } {
  const template = name && templates.get(keyOf({ namespace, name }));
  return template ? understand(template) : {};
}

/** First the Sandbox that the status names, else the oldest, so that all controllers choose the same one. */
function boundFirst({ status }: SandboxClaim, owned: readonly Sandbox[]): readonly Sandbox[] {
  if (owned.length < 2) return owned;
  const rank = ({ metadata }: Sandbox): string =>
    `${metadata.name === status?.sandbox?.name ? 0 : 1} ${metadata.creationTimestamp} ${metadata.name}`;
  return owned.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

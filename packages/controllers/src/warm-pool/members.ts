import {
  controllerOf,
  extensionsGroup,
  isConditionTrue,
  launchTypeLabel,
  nameHash,
  refersToKind,
  type Sandbox,
  type SandboxWarmPool,
  sandboxTemplateHashLabel,
  sandboxTemplateRefHashLabel,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Index, Informer } from "@agent-sandbox/kube";

/** What a pool has, counted without looking at every member. */
export interface Members {
  readonly active: number;
  readonly ready: number;
  readonly unready: number;
  /** Still there, but being deleted. */
  readonly terminating: number;
  /** How many active members carry these two hashes. */
  madeFrom(templateRefHash: string, templateHash: string): number;
  listActive(): readonly Sandbox[];
  listUnready(): readonly Sandbox[];
  /** Active members that lack the label which says that they came from a pool. */
  listUnmarked(): readonly Sandbox[];
  /** Sandboxes with the pool's label and no controller: left by a pool that was deleted without them. */
  listOrphans(): readonly Sandbox[];
}

/** The index of the cache of Sandboxes that all pools are counted with. */
export function indexMembers(sandboxes: Informer<Sandbox>): Index<Sandbox> {
  return sandboxes.index("warm-pool-members", facetsOf);
}

export function membersOf(index: Index<Sandbox>, { metadata }: SandboxWarmPool): Members {
  const own = ownerOf(metadata.namespace, metadata.uid);
  return {
    active: index.count(`${own} active`),
    ready: index.count(`${own} ready`),
    unready: index.count(`${own} unready`),
    terminating: index.count(`${own} terminating`),
    madeFrom: (templateRefHash, templateHash) => index.count(`${own} made ${templateRefHash} ${templateHash}`),
    listActive: () => index.get(`${own} active`),
    listUnready: () => index.get(`${own} unready`),
    listUnmarked: () => index.get(`${own} unmarked`),
    listOrphans: () => index.get(`${metadata.namespace} orphan ${nameHash(metadata.name ?? "")}`),
  };
}

/**
 * Where a Sandbox is found when it is seen as part of a pool. A member is known by its controller's UID in its own
 * namespace, never by a name or a label alone.
 */
export function facetsOf(sandbox: Sandbox): string[] {
  const { namespace, labels = {}, deletionTimestamp } = sandbox.metadata;
  const controller = controllerOf(sandbox);
  if (controller === undefined) {
    const label = labels[warmPoolSandboxLabel];
    return label === undefined || deletionTimestamp !== undefined ? [] : [`${namespace} orphan ${label}`];
  }
  if (!refersToKind(controller, { group: extensionsGroup, kind: "SandboxWarmPool" })) return [];
  const own = ownerOf(namespace, controller.uid);
  if (deletionTimestamp !== undefined) return [`${own} terminating`];
  const made = `${labels[sandboxTemplateRefHashLabel]} ${labels[sandboxTemplateHashLabel]}`;
  return [
    `${own} active`,
    `${own} ${isReady(sandbox) ? "ready" : "unready"}`,
    `${own} made ${made}`,
    ...(labels[launchTypeLabel] === "warm" ? [] : [`${own} unmarked`]),
  ];
}

export function isReady(sandbox: Sandbox): boolean {
  return isConditionTrue(sandbox.status?.conditions, "Ready");
}

function ownerOf(namespace: string | undefined, uid: string | undefined): string {
  return `${namespace}/${uid}`;
}

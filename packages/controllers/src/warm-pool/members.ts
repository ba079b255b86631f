import {
  controllerOf,
  extensionsGroup,
  findCondition,
  isConditionTrue,
  kindOfTrouble,
  launchTypeLabel,
  nameHash,
  refersToKind,
  type Sandbox,
  type SandboxWarmPool,
  sandboxTemplateHashLabel,
  sandboxTemplateRefHashLabel,
  troubleIn,
  warmPoolSandboxLabel,
  withoutNumbers,
} from "@agent-sandbox/api";
import type { Index, Informer } from "@agent-sandbox/kube";

/** The members of a pool, counted by an index without listing them. */
export interface Members {
  readonly active: number;
  readonly ready: number;
  readonly unready: number;
  /** Deleted, but still present. */
  readonly terminating: number;
  /** How many active members carry these two hashes. */
  madeFrom(templateRefHash: string, templateHash: string): number;
  listActive(): readonly Sandbox[];
  listUnready(): readonly Sandbox[];
  /** Active members without the label that marks a launch from a pool. */
  listUnmarked(): readonly Sandbox[];
  /** What is wrong with one of the active members; undefined: nothing is. `known` is preferred if it is still wrong with one. */
  trouble(known: string | undefined): string | undefined;
  /** Sandboxes with the pool's label and no controller, left behind by a pool that was deleted without its members. */
  listOrphans(): readonly Sandbox[];
}

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
    trouble: (known) => {
      if (known !== undefined && index.count(`${own} trouble ${troubleHash(known)}`) > 0) return known;
      const [first] = index.count(`${own} troubled`) > 0 ? index.get(`${own} troubled`) : [];
      return first && troubleOf(first);
    },
    listOrphans: () => index.get(`${metadata.namespace} orphan ${nameHash(metadata.name ?? "")}`),
  };
}

/**
 * The index values of a Sandbox. A member is identified by the UID of its controller within its namespace, never by a name
 * or a label alone.
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
    ...troubleFacets(sandbox).map((facet) => `${own} ${facet}`),
    ...(labels[launchTypeLabel] === "warm" ? [] : [`${own} unmarked`]),
  ];
}

function troubleFacets(member: Sandbox): string[] {
  const trouble = troubleOf(member);
  return trouble === undefined ? [] : ["troubled", `trouble ${troubleHash(trouble)}`];
}

/** What its Ready condition says is wrong. That probes have not succeeded yet is nothing wrong. */
function troubleOf({ status }: Sandbox): string | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  const sentence = ready?.status === "True" ? undefined : troubleIn(ready?.message);
  return sentence === undefined || kindOfTrouble(sentence) === "probe" ? undefined : sentence;
}

/** The same for sentences that differ in numbers only. */
function troubleHash(sentence: string): string {
  return nameHash(withoutNumbers(sentence));
}

export function isReady(sandbox: Sandbox): boolean {
  return isConditionTrue(sandbox.status?.conditions, "Ready");
}

function ownerOf(namespace: string | undefined, uid: string | undefined): string {
  return `${namespace}/${uid}`;
}

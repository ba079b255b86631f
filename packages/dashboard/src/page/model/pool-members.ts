/** The members of a warm pool as places: what each of them is now, and the ones that are missing. Pure. */
import { isPoolMember, type Sandbox, type SandboxWarmPool, sandboxTemplateHashLabel } from "@agent-sandbox/api";
import { poolState } from "./pool-state.ts";
import { knownState } from "./sandbox-state.ts";

export type PlaceKind = "ready" | "outdated" | "starting" | "failed" | "missing";

export interface Place {
  readonly kind: PlaceKind;
  /** Undefined: missing. */
  readonly sandbox?: Sandbox;
}

/** The Sandboxes that a pool controls, the oldest first. The server checks who may be a controller. */
export function membersOf({ metadata }: SandboxWarmPool, sandboxes: readonly Sandbox[]): Sandbox[] {
  return sandboxes
    .filter((one) => isPoolMember(one) && one.metadata.deletionTimestamp === undefined)
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some(({ controller, uid }) => controller === true && uid === metadata.uid),
    )
    .toSorted((a, b) => compare(orderOf(a), orderOf(b)));
}

const orderOf = ({ metadata }: Sandbox): string => `${metadata.creationTimestamp} ${metadata.name}`;
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function placesOf(pool: SandboxWarmPool, members: readonly Sandbox[]): Place[] {
  const { wanted, outdated } = poolState(pool);
  const old = outdatedMembers(members, outdated);
  const taken = members.map((sandbox): Place => {
    const { state } = knownState(sandbox);
    const kind =
      state === "failed" ? "failed" : state !== "running" ? "starting" : old.has(sandbox) ? "outdated" : "ready";
    return { kind, sandbox };
  });
  const missing = Math.max(0, wanted - taken.length);
  return [...taken, ...Array.from({ length: missing }, (): Place => ({ kind: "missing" }))];
}

/**
 * The members of older versions of the template. The pool says how many there are, and members of one version have one hash. Versions
 * are taken from the oldest on while they fit into that number.
 */
export function outdatedMembers(members: readonly Sandbox[], count: number): ReadonlySet<Sandbox> {
  const versions = Map.groupBy(members, ({ metadata }) => metadata.labels?.[sandboxTemplateHashLabel] ?? "");
  const found = new Set<Sandbox>();
  for (const version of versions.values()) {
    if (found.size + version.length > count) break;
    for (const member of version) found.add(member);
  }
  return found;
}

/** As in `3 ready, 1 starting, 1 missing`. */
export function describePlaces(places: readonly Place[]): string {
  const words: Readonly<Record<PlaceKind, string>> = {
    ready: "ready",
    outdated: "ready and out of date",
    starting: "starting",
    failed: "failed",
    missing: "missing",
  };
  const counts = Map.groupBy(places, ({ kind }) => kind);
  const parts = (Object.keys(words) as PlaceKind[]).flatMap((kind) => {
    const { length } = counts.get(kind) ?? [];
    return length === 0 ? [] : [`${length} ${words[kind]}`];
  });
  return parts.join(", ") || "no members";
}

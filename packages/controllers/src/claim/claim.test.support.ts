import {
  claimFirstReadyAtAnnotation,
  type NetworkPolicy,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
} from "@agent-sandbox/api";
import { type IndexFunction, type Informer, type KubeObject, objectKey } from "@agent-sandbox/kube";
import { claimOf, epoch, poolOf, templateOf } from "../extensions.test.support.ts";
import { defaultLabelDomains } from "./additional-metadata.ts";
import { decide } from "./decide.ts";
import type { Action, Decision } from "./decision.ts";
import type { ClaimMemory } from "./memory.ts";
import { type ClaimCaches, indexOwned, type Observed, observe } from "./observe.ts";
import { withReservation } from "./perform.ts";
import { Reservations } from "./reservations.ts";

/** A cache that holds just these objects. */
function cacheOf<T extends KubeObject>(objects: readonly T[]): Informer<T> {
  const index = (_name: string, valuesOf: IndexFunction<T>) => {
    const get = (value: string): readonly T[] => objects.filter((object) => valuesOf(object).includes(value));
    return { get, count: (value: string) => get(value).length };
  };
  const get = (key: string): T | undefined => objects.find((object) => objectKey(object) === key);
  return { get, index, list: () => [...objects] } as unknown as Informer<T>;
}

export interface Scene {
  /** The UID of the snapshot that the template names. */
  readonly snapshotUid?: string;
  readonly claim?: SandboxClaim;
  readonly sandboxes?: readonly Sandbox[];
  readonly pools?: readonly SandboxWarmPool[];
  readonly templates?: readonly SandboxTemplate[];
  readonly policies?: readonly NetworkPolicy[];
  readonly labelDomains?: readonly string[];
  readonly now?: number;
}

/** The caches and the reservations of one controller. */
export interface Place {
  readonly caches: ClaimCaches;
  readonly reservations: Reservations;
}

/** Caches with these objects. Claims that share the reservations compete for members. */
export function placeOf(scene: Scene, reservations: Reservations = new Reservations(() => undefined)): Place {
  const { sandboxes = [], pools = [poolOf()], templates = [templateOf()], policies = [] } = scene;
  const deltas = sandboxes.map((sandbox) => ({ key: objectKey(sandbox), old: undefined, new: sandbox }));
  reservations.follow({ deltas, initial: true, wentBack: false });
  const cache = cacheOf(sandboxes);
  const caches = {
    sandboxes: cache,
    ownedSandboxes: indexOwned(cache),
    pools: cacheOf(pools),
    templates: cacheOf(templates),
    policies: cacheOf(policies),
    snapshots: { uidFor: () => scene.snapshotUid },
  };
  return { caches, reservations };
}

export const freshMemory: ClaimMemory = {
  firstObservedAt: epoch,
  firstObservedUptimeMs: 0,
  isMeasurable: true,
  conflicts: 0,
};

/** The observed state of a claim, with its reservation if it needs one. */
export function look(scene: Scene = {}, place: Place = placeOf(scene)): Observed {
  const { claim = claimOf(), now = epoch, labelDomains = defaultLabelDomains } = scene;
  const settings = { labelDomains, patienceMs: 2_000, stampClaims: false };
  const observed = observe(claim, place.caches, { settings, uptimeMs: now - epoch, clockAheadMs: 0 });
  const request = decide(observed, freshMemory, now).actions.find((action) => action.do === "reserve");
  return request === undefined ? observed : withReservation(request, observed, place);
}

/** The decision about a claim after it has requested a pool member. */
export function judge(scene: Scene = {}, place: Place = placeOf(scene)): Omit<Decision, "memory"> {
  const { memory: _, ...decision } = decide(look(scene, place), freshMemory, scene.now ?? epoch);
  return decision;
}

/** Reserves any member of the pool for a claim, or the named one. */
export function reserve(reservations: Reservations, claim: string, named?: string): Sandbox | undefined {
  const others = named === undefined ? "any" : "none";
  const request = { claim, poolId: "default/pool-uid", named, others, mayQueue: false } as const;
  const given = reservations.reserve(request, () => true);
  return given.type === "member" ? given.sandbox : undefined;
}

/** The actions without the one that completes the record of a claim that is about to be Ready. */
export function besidesRecord({ actions }: Pick<Decision, "actions">): readonly Action[] {
  return actions.filter((action) => action.do !== "change-claim" || !isRecord(action.metadata));
}

function isRecord(metadata: object): boolean {
  return claimFirstReadyAtAnnotation in ((metadata as { annotations?: object }).annotations ?? {});
}

/** The actions in short, such as `adopt a`. */
export function actionsOf({ actions }: Pick<Decision, "actions">): string[] {
  return actions.map((action) => `${action.do} ${targetOf(action)}`.trim());
}

function targetOf(action: Action): string {
  switch (action.do) {
    case "adopt":
      return action.member.metadata.name ?? "";
    case "create":
    case "change-sandbox":
    case "delete-sandbox":
      return action.sandbox.metadata.name ?? "";
    default:
      return "";
  }
}

export function readyOf({
  status,
}: Pick<Decision, "status">): { status: string; reason: string; message: string } | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready && { status: ready.status, reason: ready.reason, message: ready.message };
}

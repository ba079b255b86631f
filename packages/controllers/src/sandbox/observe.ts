import {
  controllerOf,
  isConditionTrue,
  type PersistentVolumeClaim,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  type Service,
  sandboxes,
  sleepReason,
  trackedPodName,
} from "@agent-sandbox/api";
import { type Index, type Informer, type Informers, objectKey, type Scope } from "@agent-sandbox/kube";
import { podCache, serviceCache, volumeClaimCache } from "../child-caches.ts";
import { quietIdentity } from "./idle.ts";
import { hashKeyOf } from "./name-twin.ts";
import { findPod, isTerminating, isUnreportedMember, type Observed } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";
import { recoveryOf } from "./recovery.ts";
import type { Settings } from "./settings.ts";
import { specProblem } from "./spec-problem.ts";
import { claimTemplates } from "./volume-claims.ts";
import type { States, StateWatch } from "./watched.ts";

/** Everything the controller reads. */
export interface Caches {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly volumeClaims: Informer<PersistentVolumeClaim>;
  readonly services: Informer<Service>;
  readonly podsByController: Index<Pod>;
  /** Sandboxes by the keys of the Pods and of the volume claims that matter to them, whoever owns those. */
  readonly sandboxesByPod: Index<Sandbox>;
  readonly sandboxesByVolumeClaim: Index<Sandbox>;
  readonly sandboxesByHash: Index<Sandbox>;
}

export function openCaches(informers: Informers, scope: Pick<Scope, "namespace">, childScope: Scope): Caches {
  const all = informers.get(sandboxes, scope);
  const pods = podCache(informers, childScope);
  return {
    sandboxes: all,
    pods,
    volumeClaims: volumeClaimCache(informers, scope),
    services: serviceCache(informers, childScope),
    podsByController: pods.index("controller", controllerUid),
    sandboxesByPod: all.index("pod", podKeys),
    sandboxesByVolumeClaim: all.index("volume claim", claimKeys),
    sandboxesByHash: all.index("name hash", hashKeysOf),
  };
}

function controllerUid(pod: Pod): string[] {
  const uid = controllerOf(pod)?.uid;
  return uid ? [uid] : [];
}

function podKeys({ metadata }: Sandbox): string[] {
  const noted = metadata.annotations?.[podNameAnnotation];
  const names = new Set([metadata.name ?? "", ...(noted ? [noted] : [])]);
  return Array.from(names, (name) => `${metadata.namespace}/${name}`);
}

function claimKeys(sandbox: Sandbox): string[] {
  return claimTemplates(sandbox).map(({ claimName }) => `${sandbox.metadata.namespace}/${claimName}`);
}

function hashKeysOf(sandbox: Sandbox): string[] {
  return [hashKeyOf(sandbox)];
}

/** Other Sandboxes whose names come to the same hash. */
export function twinsOf(caches: Caches, sandbox: Sandbox): readonly Sandbox[] {
  return caches.sandboxesByHash.get(hashKeyOf(sandbox)).filter(({ metadata }) => metadata.uid !== sandbox.metadata.uid);
}

/** What the caches show of one Sandbox; undefined when it is gone. */
export function observe(
  caches: Caches,
  key: string,
  options: { settings: Settings; watch: StateWatch },
): Observed | undefined {
  const { settings, watch } = options;
  const sandbox = caches.sandboxes.get(key);
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) watch.forget(key);
  if (sandbox === undefined) return undefined;
  const { namespace = "", name = "", uid = "" } = sandbox.metadata;
  // An owner is of the same namespace: a reference from another one is forged.
  const pods = caches.podsByController.get(uid).filter(({ metadata }) => metadata?.namespace === namespace);
  const trackedPod = caches.pods.get(`${namespace}/${trackedPodName(sandbox)}`);
  const isClear = specProblem(sandbox) === undefined;
  const claims = isClear ? claimTemplates(sandbox).map(({ claimName }) => claimName) : [];
  const found = claims.flatMap((claim) => caches.volumeClaims.get(`${namespace}/${claim}`) ?? []);
  const watched = isClear ? watch.look(key, statesOf({ sandbox, pods, trackedPod }, settings)) : {};
  return {
    sandbox,
    pods,
    trackedPod,
    volumeClaims: new Map(found.map((claim) => [claim.metadata?.name ?? "", claim])),
    service: caches.services.get(`${namespace}/${name}`),
    twins: twinsOf(caches, sandbox),
    watched,
    failures: [],
  };
}

/** What a pass knows after its own writes counts as seen: their events wake nobody. */
export function observeWritten(after: Observed, { settings, watch }: { settings: Settings; watch: StateWatch }): void {
  watch.look(objectKey(after.sandbox), statesOf(after, settings));
}

type Seen = Pick<Observed, "sandbox" | "pods" | "trackedPod">;

/** The states that hold and that only time makes worth acting on. */
function statesOf({ sandbox, ...seen }: Seen, settings: Settings): States {
  if (sandbox.metadata.deletionTimestamp !== undefined) return {};
  const found = findPod(seen);
  const quiet = quietIdentity(sandbox);
  const waiting = {
    ...(quiet !== undefined && { quiet }),
    ...(isUnreportedMember(sandbox) && { unreported: sandbox.metadata.uid ?? "" }),
  };
  if (found.type !== "owned") return waiting;
  const { pod } = found;
  const { uid = "" } = pod.metadata ?? {};
  const isReady = isConditionTrue(pod.status?.conditions, "Ready");
  const isScheduled = isConditionTrue(pod.status?.conditions, "PodScheduled");
  const canWait = settings.writeBehindMs > 0 && !isTerminating(pod);
  return {
    ...waiting,
    ...(quiet !== undefined && isReady && sleepReason(sandbox) === undefined && { ready: `${uid} ${quiet}` }),
    ...(recoveryOf(pod) !== undefined && { failed: uid }),
    ...(canWait && podMetadataPatch(sandbox, settings, pod) !== undefined && { drift: uid }),
    ...(isScheduled && !isReady && { scheduled: uid }),
  };
}

import {
  controllerOf,
  type PersistentVolumeClaim,
  type Pod,
  podNameAnnotation,
  type Sandbox,
  type Service,
  sandboxes,
  trackedPodName,
} from "@agent-sandbox/api";
import { type Index, type Informer, type Informers, type Scope } from "@agent-sandbox/kube";
import { podCache, serviceCache, volumeClaimCache } from "../child-caches.ts";
import { hashKeyOf } from "./name-twin.ts";
import type { Snapshot } from "./observed.ts";
import { specProblem } from "./spec-problem.ts";
import { claimTemplates } from "./volume-claims.ts";

export interface Caches {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly volumeClaims: Informer<PersistentVolumeClaim>;
  readonly services: Informer<Service>;
  readonly podsByController: Index<Pod>;
  /** Sandboxes by the keys of the Pods and of the volume claims that they use or want, whoever owns those. */
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
  const trackedName = metadata.annotations?.[podNameAnnotation];
  const names = new Set([metadata.name ?? "", ...(trackedName ? [trackedName] : [])]);
  return Array.from(names, (name) => `${metadata.namespace}/${name}`);
}

function claimKeys(sandbox: Sandbox): string[] {
  return claimTemplates(sandbox).map(({ claimName }) => `${sandbox.metadata.namespace}/${claimName}`);
}

function hashKeysOf(sandbox: Sandbox): string[] {
  return [hashKeyOf(sandbox)];
}

/** Other Sandboxes whose names have the same hash. */
export function twinsOf(caches: Caches, sandbox: Sandbox): readonly Sandbox[] {
  return caches.sandboxesByHash.get(hashKeyOf(sandbox)).filter(({ metadata }) => metadata.uid !== sandbox.metadata.uid);
}

/** What the caches show of one Sandbox. */
export function observe(
  sandbox: Sandbox,
  caches: Caches,
  known: Pick<Snapshot, "settings" | "snapshot" | "uptimeMs" | "clockAheadMs">,
): Snapshot {
  const { namespace = "", name = "", uid = "" } = sandbox.metadata;
  // An owner is in the same namespace: a reference from another one is forged.
  const pods = caches.podsByController.get(uid).filter(({ metadata }) => metadata?.namespace === namespace);
  const claims = specProblem(sandbox) === undefined ? claimTemplates(sandbox).map(({ claimName }) => claimName) : [];
  const found = claims.flatMap((claim) => caches.volumeClaims.get(`${namespace}/${claim}`) ?? []);
  return {
    sandbox,
    pods,
    trackedPod: caches.pods.get(`${namespace}/${trackedPodName(sandbox)}`),
    volumeClaims: new Map(found.map((claim) => [claim.metadata?.name ?? "", claim])),
    service: caches.services.get(`${namespace}/${name}`),
    twins: twinsOf(caches, sandbox),
    failures: [],
    ...known,
  };
}

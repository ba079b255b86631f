import type { ContainerStatus, PersistentVolumeClaim, Pod, PodStatus, Secret, Service } from "@agent-sandbox/api";
import {
  dropManagedFields,
  type Informer,
  type Informers,
  type KubeObject,
  type Resource,
  type Scope,
} from "@agent-sandbox/kube";

export const pods: Resource<Pod> = core("Pod", "pods");
export const services: Resource<Service> = core("Service", "services");
export const volumeClaims: Resource<PersistentVolumeClaim> = core("PersistentVolumeClaim", "persistentvolumeclaims");
export const secrets: Resource<Secret> = core("Secret", "secrets");

/** One cache of Pods for all controllers: an informer is shared only if all use the same trim function. */
export function podCache(informers: Informers, scope: Scope = {}): Informer<Pod> {
  return informers.get(pods, { ...scope, trim: trimPod });
}

export function volumeClaimCache(informers: Informers, scope: Scope = {}): Informer<PersistentVolumeClaim> {
  return informers.get(volumeClaims, { ...scope, trim: keepMetadata });
}

export function serviceCache(informers: Informers, scope: Scope = {}): Informer<Service> {
  return informers.get(services, { ...scope });
}

/** Keeps what decisions read of a Pod. The spec is the largest part and is never compared: see `spec-hash.ts`. */
export function trimPod(pod: Pod): Pod {
  const { nodeName, restartPolicy, containers } = pod.spec ?? {};
  const probed = (containers ?? []).filter(({ readinessProbe }) => readinessProbe);
  return {
    ...keepMetadata(pod),
    spec: {
      containers: probed.map(({ name }) => ({ name, readinessProbe: {} })),
      ...(nodeName && { nodeName }),
      ...(restartPolicy && { restartPolicy }),
    },
    ...(pod.status && { status: trimStatus(pod.status) }),
  };
}

function trimStatus({ phase, reason, message, podIPs, startTime, conditions, ...status }: PodStatus): PodStatus {
  const kept = { phase, reason, message, podIPs, startTime, conditions };
  const inits = status.initContainerStatuses?.filter(({ state }) => state?.terminated?.exitCode !== 0);
  const containers = status.containerStatuses?.map(trimContainer);
  return {
    ...Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)),
    ...(inits?.length && { initContainerStatuses: inits.map(trimContainer) }),
    ...(containers && { containerStatuses: containers }),
  };
}

/** The image is the text that a container which cannot pull it is reported with. */
function trimContainer({ name, ready, state, lastState, image }: ContainerStatus): ContainerStatus {
  const { exitCode, reason } = lastState?.terminated ?? {};
  const last = exitCode !== undefined && { lastState: { terminated: { exitCode, ...(reason && { reason }) } } };
  return {
    name,
    ready,
    ...(state && { state }),
    ...last,
    image: state?.waiting ? image : "",
    imageID: "",
    restartCount: 0,
  };
}

/** Drops finalizers, which belong to others: no patch of the controllers may restore one. */
function keepMetadata<T extends KubeObject>(object: T): T {
  const { apiVersion, kind, metadata = {} } = dropManagedFields(object);
  const { finalizers: _, ...kept } = metadata;
  return { ...(apiVersion && { apiVersion }), ...(kind && { kind }), metadata: kept } as T;
}

function core<T extends KubeObject>(kind: string, plural: string): Resource<T> {
  return { apiVersion: "v1", kind, plural, namespaced: true };
}

import type {
  ConfigMap,
  Lease,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "@agent-sandbox/api";
import type { KubeObject, Resource } from "@agent-sandbox/kube";
import type { EndpointSlice, Endpoints } from "./network/endpoints.ts";
import type { PersistentVolume } from "./storage/local-volume.ts";

/** A token request and its response. */
export interface TokenRequest extends KubeObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObjectRef: {
      readonly apiVersion: "v1";
      readonly kind: "Pod";
      readonly name: string;
      readonly uid: string;
    };
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

const core = { apiVersion: "v1", namespaced: true } as const;

export const pods: Resource<Pod> = { ...core, kind: "Pod", plural: "pods" };
export const configMaps: Resource<ConfigMap> = { ...core, kind: "ConfigMap", plural: "configmaps" };
export const secrets: Resource<Secret> = { ...core, kind: "Secret", plural: "secrets" };
/** For the subresource `token` of service accounts. */
export const accountTokens: Resource<TokenRequest> = { ...core, kind: "ServiceAccount", plural: "serviceaccounts" };
export const nodes: Resource<Node> = { apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false };
export const leases: Resource<Lease> = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};
export const volumeClaims: Resource<PersistentVolumeClaim> = {
  ...core,
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
};
export const persistentVolumes: Resource<PersistentVolume> = {
  apiVersion: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
};
export interface StorageClass extends KubeObject {
  readonly provisioner?: string;
}
export const storageClasses: Resource<StorageClass> = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
};
export const services: Resource<Service> = { ...core, kind: "Service", plural: "services" };
export const endpoints: Resource<Endpoints> = { ...core, kind: "Endpoints", plural: "endpoints" };
export const endpointSlices: Resource<EndpointSlice> = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};
export const namespaces: Resource = {
  apiVersion: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
};
export const networkPolicies: Resource<NetworkPolicy> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

import type { Json } from "@agent-sandbox/api/schema";

const core = "io.k8s.api.core.v1.";
const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
/** 0644 */
const defaultMode = 420;
/** Times that Go encodes as null when they are not set. */
const noTimes = (...names: readonly string[]): { readonly [field: string]: null } =>
  Object.fromEntries(names.map((name) => [name, null]));
const event = {
  reportingComponent: "",
  reportingInstance: "",
  ...noTimes("eventTime", "firstTimestamp", "lastTimestamp"),
};

/**
 * Defaults that Kubernetes sets in Go code and that its OpenAPI documents do not contain, for all uses of a type. Defaults that
 * depend on other fields are in the strategies of the kinds.
 */
export const goDefaults: { readonly [definition: string]: { readonly [field: string]: Json } } = {
  [`${core}Probe`]: probe,
  [`${core}HTTPGetAction`]: { path: "/", scheme: "HTTP" },
  [`${core}GRPCAction`]: { service: "" },
  [`${core}ObjectFieldSelector`]: { apiVersion: "v1" },
  [`${core}ResourceFieldSelector`]: { divisor: "0" },
  [`${core}SecretVolumeSource`]: { defaultMode },
  [`${core}ConfigMapVolumeSource`]: { defaultMode },
  [`${core}DownwardAPIVolumeSource`]: { defaultMode },
  [`${core}ProjectedVolumeSource`]: { defaultMode },
  [`${core}ServiceAccountTokenProjection`]: { expirationSeconds: 3600 },
  [`${core}HostPathVolumeSource`]: { type: "" },
  [`${core}PersistentVolumeClaimSpec`]: { volumeMode: "Filesystem" },
  [`${core}PersistentVolumeClaimStatus`]: { phase: "Pending" },
  [`${core}PersistentVolumeSpec`]: { volumeMode: "Filesystem", persistentVolumeReclaimPolicy: "Retain" },
  [`${core}PersistentVolumeStatus`]: { phase: "Pending" },
  [`${core}NamespaceStatus`]: { phase: "Active" },
  [`${core}EndpointPort`]: { protocol: "TCP" },
  [`${core}Secret`]: { type: "Opaque" },
  [`${core}Event`]: event,
  [`${core}ContainerStateRunning`]: noTimes("startedAt"),
  [`${core}ContainerStateTerminated`]: noTimes("startedAt", "finishedAt"),
  [`${core}NodeCondition`]: noTimes("lastHeartbeatTime", "lastTransitionTime"),
  [`${core}PersistentVolumeClaimCondition`]: noTimes("lastProbeTime", "lastTransitionTime"),
  [`${core}PodCondition`]: noTimes("lastProbeTime", "lastTransitionTime"),
  "io.k8s.api.discovery.v1.EndpointPort": { name: "", protocol: "TCP" },
  "io.k8s.api.events.v1.Event": noTimes("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
  "io.k8s.api.networking.v1.NetworkPolicyPort": { protocol: "TCP" },
  "io.k8s.api.rbac.v1.RoleRef": { apiGroup: "rbac.authorization.k8s.io" },
  "io.k8s.api.scheduling.v1.PriorityClass": { preemptionPolicy: "PreemptLowerPriority", value: 0 },
  "io.k8s.api.storage.v1.StorageClass": { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec": {
    conversion: { strategy: "None" },
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference": { port: 443 },
};

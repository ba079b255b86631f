import type { ResourceDefinition } from "./definition.ts";

/** The description of one of Kubernetes' own kinds. Its behaviour is in its strategy. */
export interface BuiltinKind {
  readonly plural: string;
  readonly kind: string;
  /** Default: core `v1`. The first one is stored. */
  readonly apiVersions?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Default: true. */
  readonly namespaced?: boolean;
  readonly hasStatus?: boolean;
  readonly hasGeneration?: boolean;
  /** Default: a DNS subdomain. */
  readonly nameRule?: ResourceDefinition["nameRule"];
  /** Whether a deletion returns the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** Whether a PUT must have a resourceVersion. */
  readonly needsRevision?: boolean;
  /** Whether a PUT creates a missing object. */
  readonly createsOnUpdate?: boolean;
  /** Which finalizers are allowed. Default: the standard ones and names with a domain. */
  readonly finalizerRule?: ResourceDefinition["finalizerRule"];
  /** Whether the kind supports deletecollection. Default: true. */
  readonly deletesCollections?: boolean;
  /** The warning that clients of the kind get. */
  readonly deprecationWarning?: string;
}

const cluster = { namespaced: false } as const;
const rbac = {
  apiVersions: ["rbac.authorization.k8s.io/v1"],
  nameRule: "path-segment",
  createsOnUpdate: true,
} as const;

export const builtinKinds: readonly BuiltinKind[] = [
  { plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  {
    plural: "endpoints",
    kind: "Endpoints",
    shortNames: ["ep"],
    createsOnUpdate: true,
    deprecationWarning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  },
  {
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    apiVersions: ["v1", "events.k8s.io/v1"],
    nameRule: "path-segment",
    finalizerRule: "any",
    createsOnUpdate: true,
  },
  {
    plural: "namespaces",
    kind: "Namespace",
    shortNames: ["ns"],
    ...cluster,
    hasStatus: true,
    nameRule: "label",
    deletesCollections: false,
  },
  { plural: "nodes", kind: "Node", shortNames: ["no"], ...cluster, hasStatus: true },
  {
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
    hasStatus: true,
    returnsDeleted: true,
  },
  {
    plural: "persistentvolumes",
    kind: "PersistentVolume",
    shortNames: ["pv"],
    ...cluster,
    hasStatus: true,
    returnsDeleted: true,
  },
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
    hasStatus: true,
    hasGeneration: true,
    returnsDeleted: true,
  },
  { plural: "secrets", kind: "Secret" },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"], returnsDeleted: true },
  {
    plural: "services",
    kind: "Service",
    shortNames: ["svc"],
    categories: ["all"],
    hasStatus: true,
    nameRule: "label",
    returnsDeleted: true,
    createsOnUpdate: true,
  },
  {
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    apiVersions: ["apiextensions.k8s.io/v1"],
    ...cluster,
    hasStatus: true,
    hasGeneration: true,
    needsRevision: true,
    finalizerRule: "any",
  },
  {
    plural: "leases",
    kind: "Lease",
    apiVersions: ["coordination.k8s.io/v1"],
    needsRevision: true,
    finalizerRule: "any",
    createsOnUpdate: true,
  },
  { plural: "endpointslices", kind: "EndpointSlice", apiVersions: ["discovery.k8s.io/v1"], hasGeneration: true },
  {
    plural: "networkpolicies",
    kind: "NetworkPolicy",
    shortNames: ["netpol"],
    apiVersions: ["networking.k8s.io/v1"],
    hasGeneration: true,
  },
  {
    plural: "runtimeclasses",
    kind: "RuntimeClass",
    apiVersions: ["node.k8s.io/v1"],
    ...cluster,
    needsRevision: true,
    finalizerRule: "any",
    createsOnUpdate: true,
  },
  { plural: "clusterrolebindings", kind: "ClusterRoleBinding", ...rbac, ...cluster },
  { plural: "clusterroles", kind: "ClusterRole", ...rbac, ...cluster },
  { plural: "rolebindings", kind: "RoleBinding", ...rbac },
  { plural: "roles", kind: "Role", ...rbac },
  {
    plural: "priorityclasses",
    kind: "PriorityClass",
    shortNames: ["pc"],
    apiVersions: ["scheduling.k8s.io/v1"],
    ...cluster,
    hasGeneration: true,
  },
  {
    plural: "storageclasses",
    kind: "StorageClass",
    shortNames: ["sc"],
    apiVersions: ["storage.k8s.io/v1"],
    ...cluster,
    returnsDeleted: true,
  },
];

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

/** The name of a kind in Kubernetes' OpenAPI documents, which follows its Go package. */
export function definitionNameOf(apiVersion: string, kind: string): string {
  const group = groupOf(apiVersion);
  const version = versionOf(apiVersion);
  if (group === "apiextensions.k8s.io")
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kind}`;
  return `io.k8s.api.${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

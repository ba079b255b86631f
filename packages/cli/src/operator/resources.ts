import type { Resource } from "@agent-sandbox/kube/requests";
import type { OperatorObject } from "./manifest.ts";

/** The kinds of an installation. */
const kinds: readonly Resource[] = [
  { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", plural: "customresourcedefinitions" },
  { apiVersion: "v1", kind: "Namespace", plural: "namespaces" },
  { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", plural: "priorityclasses" },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
  },
  { apiVersion: "v1", kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", plural: "clusterroles" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", plural: "roles", namespaced: true },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", plural: "rolebindings", namespaced: true },
  { apiVersion: "v1", kind: "Service", plural: "services", namespaced: true },
  { apiVersion: "policy/v1", kind: "PodDisruptionBudget", plural: "poddisruptionbudgets", namespaced: true },
  { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", plural: "networkpolicies", namespaced: true },
  { apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    namespaced: true,
  },
].map((one) => ({ namespaced: false, ...one }));

/** What `upgrade` and `uninstall` remove: everything but the CRDs and the namespace, which contain what users made. */
export const removableKinds: readonly Resource[] = kinds.filter(
  ({ kind }) => kind !== "CustomResourceDefinition" && kind !== "Namespace",
);

function resourceNamed(kind: string): Resource {
  const found = kinds.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`Cannot install ${kind}: its resource is not known`);
  return found;
}

export function resourceOf({ kind }: Pick<OperatorObject, "kind">): Resource {
  return resourceNamed(kind);
}

export const deployments: Resource = resourceNamed("Deployment");
export const namespaces: Resource = resourceNamed("Namespace");
export const definitions: Resource = resourceNamed("CustomResourceDefinition");
export const secrets: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
export const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

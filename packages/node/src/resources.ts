import type { Lease, Node, Pod } from "@agent-sandbox/api";
import type { Resource } from "@agent-sandbox/kube";

export const pods: Resource<Pod> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
export const nodes: Resource<Node> = { apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false };
export const leases: Resource<Lease> = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};

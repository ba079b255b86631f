/** A valid object and the path of its collection. There are few names, so that cases meet existing objects. */
export interface Sample {
  readonly path: string;
  readonly object: { readonly [field: string]: unknown };
}

const core = (plural: string): string => `/api/v1/namespaces/default/${plural}`;
const sample = (path: string, apiVersion: string, kind: string, rest: object): Sample => ({
  path,
  object: { apiVersion, kind, ...rest },
});

const containers = [
  { name: "main", image: "busybox", ports: [{ containerPort: 80, name: "http" }], env: [{ name: "A", value: "b" }] },
];
const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

export const samples: readonly Sample[] = [
  sample(core("configmaps"), "v1", "ConfigMap", { data: { a: "b" } }),
  sample(core("secrets"), "v1", "Secret", { stringData: { a: "b" }, type: "Opaque" }),
  sample(core("pods"), "v1", "Pod", { spec: { containers, volumes: [{ name: "v", emptyDir: {} }] } }),
  sample(core("services"), "v1", "Service", { spec: { selector: { a: "b" }, ports: [{ port: 80, name: "http" }] } }),
  sample(core("serviceaccounts"), "v1", "ServiceAccount", {}),
  sample(core("endpoints"), "v1", "Endpoints", {
    subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }],
  }),
  sample(core("events"), "v1", "Event", {
    involvedObject: { kind: "Pod", name: "a", namespace: "default" },
    reason: "R",
  }),
  sample(core("persistentvolumeclaims"), "v1", "PersistentVolumeClaim", {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  sample("/api/v1/namespaces", "v1", "Namespace", {}),
  sample("/api/v1/nodes", "v1", "Node", { spec: {}, status: { capacity: { cpu: "1" } } }),
  sample("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease", {
    spec: { holderIdentity: "x", leaseDurationSeconds: 5, renewTime: "2026-01-01T00:00:00.000000Z" },
  }),
  sample("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "rbac.authorization.k8s.io/v1", "Role", {
    rules: [rule],
  }),
  sample("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", {
    rules: [rule],
  }),
  sample("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", {
    spec: { podSelector: { matchLabels: { a: "b" } }, ingress: [{ ports: [{ port: 80 }] }], policyTypes: ["Ingress"] },
  }),
  sample("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "discovery.k8s.io/v1", "EndpointSlice", {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ports: [{ port: 80, name: "http" }],
  }),
  sample("/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes", "agents.x-k8s.io/v1beta1", "Sandbox", {
    spec: { podTemplate: { spec: { containers } } },
  }),
  sample("/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes", "agents.x-k8s.io/v1alpha1", "Sandbox", {
    spec: { podTemplate: { spec: { containers } } },
  }),
  sample(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "authorization.k8s.io/v1",
    "SelfSubjectAccessReview",
    {
      spec: { resourceAttributes: { verb: "get", resource: "pods" } },
    },
  ),
  sample("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1", "TokenReview", {
    spec: { token: "x" },
  }),
];

import { authenticatedGroup, nodesGroup, superuserGroup, unauthenticatedGroup } from "../auth/identity.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { rbacGroup } from "./rbac-index.ts";

export interface BootstrapRole {
  readonly name: string;
  /** The aggregated role that includes the rules of this one. */
  readonly partOf?: string;
  /** Whether it includes the rules of all roles that are `partOf` it. */
  readonly aggregates?: boolean;
  readonly rules: readonly PolicyRule[];
}

export interface BootstrapBinding {
  readonly role: string;
  readonly groups?: readonly string[];
  readonly accounts?: readonly { readonly namespace: string; readonly name: string }[];
}

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];
const all = [...read, ...write];

const on = (verbs: readonly string[], apiGroups: readonly string[], ...resources: readonly string[]): PolicyRule => ({
  verbs,
  apiGroups,
  resources,
});
const at = (...nonResourceURLs: readonly string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });

const sandboxGroups = ["agents.x-k8s.io"];
const extensionGroups = ["extensions.agents.x-k8s.io"];
const extensions = ["sandboxtemplates", "sandboxclaims", "sandboxwarmpools"];
const snapshotGroups = ["snapshots.agents.x-k8s.io"];
const podSnapshotGroups = ["podsnapshot.gke.io"];
const podSnapshots = ["podsnapshots", "podsnapshotmanualtriggers"];
const parts = (names: readonly string[], part: string): string[] => names.map((name) => `${name}/${part}`);

const viewRules: readonly PolicyRule[] = [
  on(read, [""], "pods", "serviceaccounts", "services", "services/status", "endpoints"),
  on(read, [""], "persistentvolumeclaims", "persistentvolumeclaims/status", "configmaps"),
  on(read, [""], "limitranges", "resourcequotas", "resourcequotas/status", "pods/status", "pods/log"),
  // Bound in a namespace, this allows reading that namespace, so that users can find where they have permissions.
  on(read, [""], "namespaces", "namespaces/status"),
  on(read, ["", "events.k8s.io"], "events"),
  on(read, ["discovery.k8s.io"], "endpointslices"),
  on(read, ["apps"], "deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"),
  on(read, ["apps"], "deployments/status", "replicasets/status", "statefulsets/status", "daemonsets/status"),
  on(read, ["apps"], "deployments/scale", "replicasets/scale", "statefulsets/scale"),
  on(read, ["batch"], "jobs", "jobs/status", "cronjobs", "cronjobs/status"),
  on(read, ["autoscaling"], "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
  on(read, ["policy"], "poddisruptionbudgets", "poddisruptionbudgets/status"),
  on(read, ["networking.k8s.io"], "networkpolicies", "ingresses", "ingresses/status"),
  on(read, sandboxGroups, "sandboxes", "sandboxes/status", "sandboxes/scale"),
  on(read, extensionGroups, ...extensions, ...parts(extensions, "status"), "sandboxwarmpools/scale"),
  on(read, snapshotGroups, "sandboxsnapshots", "sandboxsnapshots/status"),
  on(read, podSnapshotGroups, ...podSnapshots, ...parts(podSnapshots, "status")),
];

const editRules: readonly PolicyRule[] = [
  // Reading these lets users act as somebody else, so they are not part of `view`.
  on(read, [""], "pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets", "services/proxy"),
  on(["impersonate"], [""], "serviceaccounts"),
  on(write, [""], "pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward"),
  on(["create"], [""], "pods/eviction", "serviceaccounts/token"),
  on(write, [""], "serviceaccounts", "services", "services/proxy", "persistentvolumeclaims", "configmaps", "secrets"),
  on(write, ["", "events.k8s.io"], "events"),
  on(write, ["apps"], "deployments", "deployments/scale", "replicasets", "replicasets/scale"),
  on(write, ["apps"], "statefulsets", "statefulsets/scale", "daemonsets"),
  on(write, ["batch"], "jobs", "cronjobs"),
  on(write, ["autoscaling"], "horizontalpodautoscalers"),
  on(write, ["policy"], "poddisruptionbudgets"),
  on(write, ["networking.k8s.io"], "networkpolicies", "ingresses"),
  on(all, ["coordination.k8s.io"], "leases"),
  on(write, sandboxGroups, "sandboxes", "sandboxes/scale"),
  // Allows sending traffic to a Sandbox through the router.
  on(["connect"], sandboxGroups, "sandboxes"),
  on(write, extensionGroups, ...extensions, "sandboxwarmpools/scale"),
  on(write, snapshotGroups, "sandboxsnapshots"),
  // An archive contains what a command in a fork of the snapshot could read.
  on(["get"], snapshotGroups, "sandboxsnapshots/export"),
  on(write, podSnapshotGroups, ...podSnapshots),
];

const adminRules: readonly PolicyRule[] = [
  on(["create"], ["authorization.k8s.io"], "localsubjectaccessreviews"),
  on(all, [rbacGroup], "roles", "rolebindings"),
];

/** The permissions of the box's node: to run Pods, with the Secrets and volumes that they use. */
const nodeRules: readonly PolicyRule[] = [
  on(["create"], ["authentication.k8s.io"], "tokenreviews"),
  on(["create"], ["authorization.k8s.io"], "subjectaccessreviews", "localsubjectaccessreviews"),
  on([...read, "create", "update", "patch"], [""], "nodes"),
  on(["update", "patch"], [""], "nodes/status", "pods/status"),
  on([...read, "create", "delete"], [""], "pods"),
  on(read, [""], "services", "secrets", "configmaps", "namespaces"),
  on(["get", "update", "patch"], [""], "persistentvolumeclaims/status", "persistentvolumes/status", "services/status"),
  on([...read, "update", "patch"], [""], "persistentvolumeclaims"),
  on(all, [""], "persistentvolumes", "endpoints"),
  on(all, ["discovery.k8s.io"], "endpointslices"),
  on(read, ["networking.k8s.io"], "networkpolicies"),
  on(all, ["storage.k8s.io"], "storageclasses"),
  on(read, sandboxGroups, "sandboxes"),
  // For the sources of snapshots, and for the objects that refer to snapshots.
  on(read, extensionGroups, "sandboxclaims", "sandboxtemplates"),
  // Takes snapshots: holds them with a finalizer, and deletes those that expire or exceed a quota.
  // Creates those that are imported.
  on([...read, "create", "update", "patch", "delete"], snapshotGroups, "sandboxsnapshots"),
  on(["get", "update", "patch"], snapshotGroups, "sandboxsnapshots/status"),
  on(["get"], [""], "serviceaccounts"),
  on(["create"], [""], "serviceaccounts/token", "pods/eviction"),
  on(["create", "update", "patch"], ["", "events.k8s.io"], "events"),
  on(["get", "create", "update", "patch", "delete"], ["coordination.k8s.io"], "leases"),
  on(all, ["node.k8s.io"], "runtimeclasses"),
];

/** The permissions of the box's controllers, in every namespace. */
const controllerRules: readonly PolicyRule[] = [
  on(all, sandboxGroups, "sandboxes"),
  on(["get", "update", "patch"], sandboxGroups, "sandboxes/status", "sandboxes/finalizers"),
  on(all, extensionGroups, ...extensions),
  on(["get", "update", "patch"], extensionGroups, ...parts(extensions, "status"), ...parts(extensions, "finalizers")),
  on([...read, "create", "delete"], snapshotGroups, "sandboxsnapshots"),
  on(all, podSnapshotGroups, ...podSnapshots),
  on(
    ["get", "update", "patch"],
    podSnapshotGroups,
    ...parts(podSnapshots, "status"),
    ...parts(podSnapshots, "finalizers"),
  ),
  on(all, [""], "pods", "services", "persistentvolumeclaims"),
  // For the tokens of injected runtimes.
  on(all, [""], "secrets"),
  on(all, ["networking.k8s.io"], "networkpolicies"),
  on(["create", "update", "patch"], ["", "events.k8s.io"], "events"),
  on(all, ["coordination.k8s.io"], "leases"),
];

/** The permissions of the box's router: to find and wake Sandboxes, and to authorize callers. */
const routerRules: readonly PolicyRule[] = [
  on([...read, "patch"], sandboxGroups, "sandboxes"),
  on(read, extensionGroups, "sandboxclaims"),
  on(read, [""], "pods"),
  // For the tokens of injected runtimes, read by name.
  on(["get"], [""], "secrets"),
  on(["create"], ["authentication.k8s.io"], "tokenreviews"),
  on(["create"], ["authorization.k8s.io"], "subjectaccessreviews"),
];

/** The permissions of the box's listener for clients of other platforms. What its callers do is done with their own rights. */
const compatRules: readonly PolicyRule[] = [
  on(read, sandboxGroups, "sandboxes"),
  // Deletes those that it created for a request that was never answered.
  on([...read, "delete"], extensionGroups, "sandboxclaims"),
  // The variables of the claims, read by name.
  on(["get", "create"], [""], "secrets"),
];

/** What the members of the box's group may read outside their namespaces: which namespaces, runtimes and storage classes exist. */
const groupRules: readonly PolicyRule[] = [
  on(read, [""], "namespaces"),
  on(read, ["node.k8s.io"], "runtimeclasses"),
  on(read, ["storage.k8s.io"], "storageclasses"),
];

/** gVisor reads the memory in an archive, so importing one is not part of `edit` or `admin`. */
const importerRules: readonly PolicyRule[] = [
  on(["create"], snapshotGroups, "sandboxsnapshots"),
  // The request is a WebSocket's, which needs both verbs.
  on(["get", "create"], snapshotGroups, "sandboxsnapshots/import"),
];

/** What Prometheus scrapes. The node's proxy serves metrics only. */
const monitoringRules: readonly PolicyRule[] = [
  at("/metrics", "/agent-sandbox/metrics/*"),
  on(["get"], [""], "nodes/proxy"),
];

const health = ["/healthz", "/livez", "/readyz"];

/** The default roles of Kubernetes and those of the box's components. */
export const bootstrapRoles: readonly BootstrapRole[] = [
  {
    name: "cluster-admin",
    rules: [on(["*"], ["*"], "*"), { verbs: ["*"], nonResourceURLs: ["*"] }],
  },
  {
    name: "system:discovery",
    rules: [at(...health, "/version", "/version/", "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")],
  },
  { name: "system:public-info-viewer", rules: [at(...health, "/version", "/version/")] },
  {
    name: "system:monitoring",
    rules: [at("/metrics", "/metrics/slis", ...health, ...parts(health, "*"))],
  },
  {
    name: "system:basic-user",
    rules: [
      on(["create"], ["authorization.k8s.io"], "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
      on(["create"], ["authentication.k8s.io"], "selfsubjectreviews"),
    ],
  },
  {
    name: "system:service-account-issuer-discovery",
    rules: [
      at(
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
      ),
    ],
  },
  {
    name: "system:auth-delegator",
    rules: [
      on(["create"], ["authentication.k8s.io"], "tokenreviews"),
      on(["create"], ["authorization.k8s.io"], "subjectaccessreviews"),
    ],
  },
  { name: "system:node", rules: nodeRules },
  // Manifests for clusters contain roles of these names without the prefix, which must not replace the box's own.
  { name: "system:agent-sandbox-controller", rules: controllerRules },
  { name: "system:agent-sandbox-router", rules: routerRules },
  { name: "system:agent-sandbox-compat", rules: compatRules },
  { name: "system:agent-sandbox-group", rules: groupRules },
  { name: "agent-sandbox-monitoring", rules: monitoringRules },
  { name: "agent-sandbox-snapshot-importer", rules: importerRules },
  { name: "admin", aggregates: true, rules: [] },
  { name: "edit", aggregates: true, partOf: "admin", rules: [] },
  { name: "view", aggregates: true, partOf: "edit", rules: [] },
  { name: "system:aggregate-to-admin", partOf: "admin", rules: adminRules },
  { name: "system:aggregate-to-edit", partOf: "edit", rules: editRules },
  { name: "system:aggregate-to-view", partOf: "view", rules: viewRules },
  // The role that metrics-server installs in a cluster.
  { name: "system:aggregated-metrics-reader", partOf: "view", rules: [on(read, ["metrics.k8s.io"], "pods", "nodes")] },
];

export const bootstrapBindings: readonly BootstrapBinding[] = [
  { role: "cluster-admin", groups: [superuserGroup] },
  { role: "system:discovery", groups: [authenticatedGroup] },
  { role: "system:basic-user", groups: [authenticatedGroup] },
  { role: "system:public-info-viewer", groups: [authenticatedGroup, unauthenticatedGroup] },
  { role: "system:monitoring", groups: ["system:monitoring"] },
  { role: "system:service-account-issuer-discovery", groups: ["system:serviceaccounts"] },
  { role: "system:node", groups: [nodesGroup] },
  {
    role: "system:agent-sandbox-controller",
    accounts: [{ namespace: "agent-sandbox-system", name: "agent-sandbox-controller" }],
  },
  {
    role: "system:agent-sandbox-router",
    accounts: [{ namespace: "agent-sandbox-system", name: "agent-sandbox-router" }],
  },
  {
    role: "system:agent-sandbox-compat",
    accounts: [{ namespace: "agent-sandbox-system", name: "agent-sandbox-compat" }],
  },
  {
    role: "system:agent-sandbox-group",
    accounts: [{ namespace: "agent-sandbox-system", name: "agent-sandbox-group" }],
  },
];

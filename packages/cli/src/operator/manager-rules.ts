import { crds } from "@agent-sandbox/api/crds";
import type { ExplainedRule } from "./manifest.ts";

const core = [""];
const sandboxGroup = ["agents.x-k8s.io"];
const extensionsGroup = ["extensions.agents.x-k8s.io"];
const watched = ["get", "list", "watch"];
const written = [...watched, "create", "patch", "delete"];

/** What Sandboxes need, in each namespace with Sandboxes. */
export const sandboxRules: readonly ExplainedRule[] = [
  {
    why: "Reads Sandboxes; claims and pools create and delete them; suspension, adoption and expiry patch them.",
    apiGroups: sandboxGroup,
    resources: ["sandboxes"],
    verbs: written,
  },
  { why: "Reports their conditions.", apiGroups: sandboxGroup, resources: ["sandboxes/status"], verbs: ["patch"] },
  {
    why: "Pods, Services and volume claims block the deletion of their Sandbox. The API server allows this only to those who may change its finalizers.",
    apiGroups: sandboxGroup,
    resources: ["sandboxes/finalizers"],
    verbs: ["update"],
  },
  {
    why: "A new Sandbox can start from a snapshot.",
    apiGroups: ["snapshots.agents.x-k8s.io"],
    resources: ["sandboxsnapshots"],
    verbs: watched,
  },
  {
    why: "The Pod and the Service of each Sandbox.",
    apiGroups: core,
    resources: ["pods", "services"],
    verbs: written,
  },
  {
    why: "Its volumes. They are never deleted by the manager: the garbage collector removes them with their owner.",
    apiGroups: core,
    resources: ["persistentvolumeclaims"],
    verbs: [...watched, "create", "patch"],
  },
  {
    why: "Reports what happened to Sandboxes, claims and pools.",
    apiGroups: ["events.k8s.io"],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
  {
    why: 'The token of each Sandbox with "runtime: Injected", in the Secret <sandbox>-runtime. RBAC cannot limit this to such names. It allows nothing new: whoever may create Pods can mount any Secret of the namespace.',
    apiGroups: core,
    resources: ["secrets"],
    verbs: ["get", "create"],
  },
];

/** What templates, pools and claims need, in each namespace with them. */
export const extensionRules: readonly ExplainedRule[] = [
  {
    why: "Reads claims, stamps them, and deletes those that expired.",
    apiGroups: extensionsGroup,
    resources: ["sandboxclaims"],
    verbs: [...watched, "patch", "delete"],
  },
  { why: "Reads pools.", apiGroups: extensionsGroup, resources: ["sandboxwarmpools"], verbs: watched },
  {
    why: "Reads templates, and marks those that manage a NetworkPolicy.",
    apiGroups: extensionsGroup,
    resources: ["sandboxtemplates"],
    verbs: [...watched, "patch"],
  },
  {
    why: "Reports their state.",
    apiGroups: extensionsGroup,
    resources: ["sandboxclaims/status", "sandboxwarmpools/status"],
    verbs: ["patch"],
  },
  {
    why: "Sandboxes and NetworkPolicies block the deletion of their claim, pool or template.",
    apiGroups: extensionsGroup,
    resources: ["sandboxclaims/finalizers", "sandboxwarmpools/finalizers", "sandboxtemplates/finalizers"],
    verbs: ["update"],
  },
  {
    why: "The NetworkPolicy of each template.",
    apiGroups: ["networking.k8s.io"],
    resources: ["networkpolicies"],
    verbs: written,
  },
];

/** Cluster-wide objects. */
export const clusterRules: readonly ExplainedRule[] = [
  {
    why: "Makes the API server trust the certificate of the conversion webhook.",
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: crds.filter(({ spec }) => spec.versions.length > 1).map(({ metadata }) => metadata.name ?? ""),
    verbs: ["get", "patch"],
  },
];

/** In the namespace of the manager. */
export const homeRules: readonly ExplainedRule[] = [
  {
    why: "The lease that decides which replica works. RBAC cannot limit the creation of objects by name.",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create"],
  },
  {
    why: "The same lease, renewed every few seconds.",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: ["a3317529.agent-sandbox.x-k8s.io"],
    verbs: ["get", "update"],
  },
  {
    why: "The certificate of the webhook, created by the first replica.",
    apiGroups: core,
    resources: ["secrets"],
    verbs: ["create"],
  },
  {
    why: "The same certificate, read by every replica and renewed before it expires.",
    apiGroups: core,
    resources: ["secrets"],
    resourceNames: ["agent-sandbox-webhook-certs"],
    verbs: ["get", "patch"],
  },
];

import type { ExplainedRule } from "./manifest.ts";

const sandboxGroup = ["agents.x-k8s.io"];
const extensionsGroup = ["extensions.agents.x-k8s.io"];
const snapshotsGroup = ["snapshots.agents.x-k8s.io"];
const extensions = ["sandboxtemplates", "sandboxclaims", "sandboxwarmpools"];
const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];

/** What the roles `view`, `edit` and `admin` of a cluster may do with Sandboxes and snapshots: the same as in a box. */
export const viewRules: readonly ExplainedRule[] = [
  {
    why: "Which Sandboxes exist, and their state. It allows no traffic to them.",
    apiGroups: sandboxGroup,
    resources: ["sandboxes", "sandboxes/status", "sandboxes/scale"],
    verbs: read,
  },
  {
    why: "Which snapshots exist, and their state, without their content.",
    apiGroups: snapshotsGroup,
    resources: ["sandboxsnapshots", "sandboxsnapshots/status"],
    verbs: read,
  },
];

export const editRules: readonly ExplainedRule[] = [
  {
    why: "Creates, changes, suspends and deletes Sandboxes, whose Pods, Services and volumes the user may create anyway. Only the manager writes their status.",
    apiGroups: sandboxGroup,
    resources: ["sandboxes", "sandboxes/scale"],
    verbs: write,
  },
  {
    why: 'Sends traffic to Sandboxes through the router. Traffic can run code, as "pods/exec" can, so it is not part of "view".',
    apiGroups: sandboxGroup,
    resources: ["sandboxes"],
    verbs: ["connect"],
  },
  {
    why: "Takes and deletes snapshots.",
    apiGroups: snapshotsGroup,
    resources: ["sandboxsnapshots"],
    verbs: write,
  },
  {
    why: 'Reads the content of a snapshot: what a command in a sandbox made from it could read, so it is not part of "view".',
    apiGroups: snapshotsGroup,
    resources: ["sandboxsnapshots/export"],
    verbs: ["get"],
  },
];

/** The same for templates, pools and claims. */
export const extensionViewRules: readonly ExplainedRule[] = [
  {
    why: "Which templates, pools and claims exist, and their state.",
    apiGroups: extensionsGroup,
    resources: [...extensions, ...extensions.map((name) => `${name}/status`), "sandboxwarmpools/scale"],
    verbs: read,
  },
];

export const extensionEditRules: readonly ExplainedRule[] = [
  {
    why: "Creates, changes and deletes them, and changes the size of pools. Only the manager writes their status.",
    apiGroups: extensionsGroup,
    resources: [...extensions, "sandboxwarmpools/scale"],
    verbs: write,
  },
];

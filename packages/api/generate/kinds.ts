import { coreGroup, extensionsGroup, type PrinterColumn, podSnapshotsGroup, snapshotsGroup } from "@agent-sandbox/api";
import { snapshots, v1alpha1, v1beta1 } from "@agent-sandbox/api/zod";
import type { KindDescription } from "./crd.ts";

const readyColumn: PrinterColumn = {
  jsonPath: ".status.conditions[?(@.type=='Ready')].status",
  name: "Ready",
  type: "string",
};
const reasonColumn: PrinterColumn = {
  jsonPath: ".status.conditions[?(@.type=='Ready')].reason",
  name: "Reason",
  type: "string",
};
const ageColumn: PrinterColumn = { jsonPath: ".metadata.creationTimestamp", name: "Age", type: "date" };
const poolColumns: readonly PrinterColumn[] = [
  { jsonPath: ".status.readyReplicas", name: "Ready", type: "integer" },
  { jsonPath: ".spec.replicas", name: "Desired", type: "integer" },
  ageColumn,
];
/** Shown by `kubectl get -o wide`. */
const outdatedColumn: PrinterColumn = {
  jsonPath: ".status.outdatedReplicas",
  name: "Outdated",
  priority: 1,
  type: "integer",
};

export const kinds: readonly KindDescription[] = [
  {
    group: coreGroup,
    kind: "Sandbox",
    plural: "sandboxes",
    shortName: "sandbox",
    description: "One isolated workload with a stable name and its own storage, which can be suspended and resumed.",
    versions: [
      {
        name: "v1beta1",
        spec: v1beta1.sandboxSpec,
        status: v1beta1.sandboxStatus,
        columns: [readyColumn, reasonColumn, ageColumn],
      },
      { name: "v1alpha1", spec: v1alpha1.sandboxSpec, status: v1alpha1.sandboxStatus, scale: true },
    ],
  },
  {
    group: extensionsGroup,
    kind: "SandboxClaim",
    plural: "sandboxclaims",
    shortName: "sandboxclaim",
    description: "Asks for a Sandbox, taken from a warm pool where one is ready.",
    versions: [
      {
        name: "v1beta1",
        spec: v1beta1.sandboxClaimSpec,
        status: v1beta1.sandboxClaimStatus,
        columns: [
          readyColumn,
          { jsonPath: ".status.sandbox.name", name: "Sandbox", type: "string" },
          reasonColumn,
          ageColumn,
        ],
      },
      { name: "v1alpha1", spec: v1alpha1.sandboxClaimSpec, status: v1alpha1.sandboxClaimStatus },
    ],
  },
  {
    group: extensionsGroup,
    kind: "SandboxTemplate",
    plural: "sandboxtemplates",
    shortName: "sandboxtemplate",
    description: "What the Sandboxes of claims and warm pools are made from.",
    versions: [
      { name: "v1beta1", spec: v1beta1.sandboxTemplateSpec },
      { name: "v1alpha1", spec: v1alpha1.sandboxTemplateSpec },
    ],
  },
  {
    group: extensionsGroup,
    kind: "SandboxWarmPool",
    plural: "sandboxwarmpools",
    shortName: "swp",
    description: "Keeps Sandboxes of a template started and ready to be claimed.",
    versions: [
      {
        name: "v1beta1",
        spec: v1beta1.sandboxWarmPoolSpec,
        status: v1beta1.sandboxWarmPoolStatus,
        scale: true,
        columns: [...poolColumns, outdatedColumn],
      },
      {
        name: "v1alpha1",
        spec: v1alpha1.sandboxWarmPoolSpec,
        status: v1alpha1.sandboxWarmPoolStatus,
        scale: true,
        columns: poolColumns,
      },
    ],
  },
  {
    group: snapshotsGroup,
    kind: "SandboxSnapshot",
    plural: "sandboxsnapshots",
    shortName: "sbs",
    description: "The state of a Sandbox at one instant, which Sandboxes can be restored to and started from.",
    versions: [
      {
        name: "v1alpha1",
        spec: snapshots.sandboxSnapshotSpec,
        status: snapshots.sandboxSnapshotStatus,
        columns: [
          { jsonPath: ".status.sourceName", name: "Sandbox", type: "string" },
          { jsonPath: ".status.depth", name: "Depth", type: "string" },
          { jsonPath: ".status.sizeBytes", name: "Size", type: "integer" },
          readyColumn,
          ageColumn,
        ],
      },
    ],
  },
  {
    group: podSnapshotsGroup,
    kind: "PodSnapshot",
    plural: "podsnapshots",
    shortName: "podsnapshot",
    isForeign: true,
    description: "A SandboxSnapshot of depth Memory as clients of Pod snapshots see it.",
    versions: [
      {
        name: "v1",
        spec: snapshots.podSnapshotSpec,
        status: snapshots.podSnapshotStatus,
        columns: [readyColumn, reasonColumn, ageColumn],
      },
    ],
  },
  {
    group: podSnapshotsGroup,
    kind: "PodSnapshotManualTrigger",
    plural: "podsnapshotmanualtriggers",
    shortName: "podsnapshotmanualtrigger",
    isForeign: true,
    description: "Asks once for a PodSnapshot of the Pod of a Sandbox.",
    versions: [
      {
        name: "v1",
        spec: snapshots.podSnapshotManualTriggerSpec,
        status: snapshots.podSnapshotManualTriggerStatus,
        columns: [
          { jsonPath: ".spec.targetPod", name: "Pod", type: "string" },
          { jsonPath: ".status.conditions[?(@.type=='Triggered')].reason", name: "Reason", type: "string" },
          ageColumn,
        ],
      },
    ],
  },
];

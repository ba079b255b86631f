/** The forms: their fields, and the object that each makes of the texts. */
import {
  type KubeObject,
  type Resource,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "../data/resources.ts";
import { newClaim, newPool, newSandbox, newSnapshot, newTemplate, type Values } from "./manifests.ts";

export interface Field {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?: "text" | "number" | "lines" | "select";
  readonly isRequired?: boolean;
  readonly initial?: string;
  /** Of a select, or proposals for a text. */
  readonly options?: readonly (string | readonly [value: string, title: string])[];
  /** Proposals that are read from the server. */
  readonly propose?: "images" | "templates" | "pools" | "sandboxes";
  readonly least?: number;
}

export interface Form {
  readonly title: string;
  readonly action: string;
  readonly resource: Resource<KubeObject>;
  /** The name begins with it. */
  readonly prefix: string;
  readonly fields: readonly Field[];
  readonly build: (values: Values) => KubeObject;
  /** The folder of the page of the new object. */
  readonly folder: string;
}

const environment: Field = { id: "env", label: "Environment", kind: "lines", hint: "One NAME=value in each line" };

const blueprint: readonly Field[] = [
  {
    id: "image",
    label: "Image",
    isRequired: true,
    initial: "host",
    propose: "images",
    hint: "“host” has the programs of this machine",
  },
  { id: "cpu", label: "CPU limit", hint: "As in 1.5. Empty: no limit" },
  { id: "memory", label: "Memory limit", hint: "As in 512Mi. Empty: no limit" },
  { id: "idleSeconds", label: "Sleep after seconds without use", kind: "number", least: 10, hint: "Empty: never" },
  {
    id: "depth",
    label: "A sleep keeps",
    kind: "select",
    options: [
      ["", "Default of the machine"],
      ["Memory", "Memory, processes and files"],
      ["Filesystem", "Files"],
      ["Volumes", "Volumes only"],
    ],
  },
  { id: "runtimeClass", label: "Runtime class", hint: "As in gvisor. Empty: default of the machine" },
  { id: "command", label: "Command", kind: "lines", hint: "One argument in each line. Empty: that of the image" },
  environment,
];

export const sandboxForm: Form = {
  title: "New sandbox",
  action: "Create sandbox",
  resource: sandboxes,
  prefix: "sandbox",
  fields: blueprint,
  build: newSandbox,
  folder: "sandboxes",
};

export const templateForm: Form = {
  title: "New template",
  action: "Create template",
  resource: sandboxTemplates,
  prefix: "template",
  fields: blueprint,
  build: newTemplate,
  folder: "templates",
};

export const poolForm: Form = {
  title: "New warm pool",
  action: "Create pool",
  resource: sandboxWarmPools,
  prefix: "pool",
  fields: [
    { id: "template", label: "Template", isRequired: true, propose: "templates" },
    { id: "replicas", label: "Members to keep ready", kind: "number", least: 0, initial: "2", isRequired: true },
    {
      id: "strategy",
      label: "After a change of the template",
      kind: "select",
      options: [
        ["", "Replace members when they are claimed"],
        ["Recreate", "Replace members at once"],
      ],
    },
  ],
  build: newPool,
  folder: "pools",
};

export const claimForm: Form = {
  title: "New claim",
  action: "Create claim",
  resource: sandboxClaims,
  prefix: "claim",
  fields: [
    { id: "pool", label: "Warm pool", isRequired: true, propose: "pools" },
    {
      id: "ttlSeconds",
      label: "Expires after its sandbox finished",
      kind: "number",
      least: 0,
      hint: "Seconds. Empty: never",
    },
    {
      id: "shutdown",
      label: "When it expires",
      kind: "select",
      options: [
        ["", "Delete the sandbox"],
        ["Delete", "Delete the claim and the sandbox"],
      ],
    },
    { ...environment, hint: "One NAME=value in each line, if the template allows it. The sandbox is then a new one" },
  ],
  build: newClaim,
  folder: "claims",
};

export const snapshotForm: Form = {
  title: "New snapshot",
  action: "Take snapshot",
  resource: sandboxSnapshots,
  prefix: "snapshot",
  fields: [
    { id: "sandbox", label: "Sandbox", isRequired: true, propose: "sandboxes" },
    {
      id: "depth",
      label: "Contains",
      kind: "select",
      options: [
        ["", "As much as the runtime can save"],
        ["Memory", "Memory, processes and files"],
        ["Filesystem", "Files"],
      ],
    },
    { id: "ttlSeconds", label: "Delete after seconds", kind: "number", least: 1, hint: "Empty: never" },
    {
      id: "keep",
      label: "When its sandbox is deleted",
      kind: "select",
      options: [
        ["", "Delete the snapshot"],
        ["Retain", "Keep the snapshot"],
      ],
    },
  ],
  build: newSnapshot,
  folder: "snapshots",
};

/** All commands of the palette, from what exists and from what the user may do. Pure. */
import type { Sandbox, SandboxClaim, SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from "@agent-sandbox/api";
import { claimForm, type Form, poolForm, sandboxForm, snapshotForm, templateForm } from "../create/forms.ts";
import {
  type KubeObject,
  keyOf,
  type Resource,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "../data/resources.ts";
import { type Folder, hrefIn } from "../model/links.ts";
import { isShadow } from "../model/pool-state.ts";
import { knownState, titleOfState } from "../model/sandbox-state.ts";
import type { Command, Group } from "./command.ts";

/** What the user may do in a namespace, as in `create sandboxes`. */
export type Rights = (verb: "create" | "patch" | "delete", resource: Resource<unknown>, namespace: string) => boolean;

export interface Objects {
  readonly sandboxes: readonly Sandbox[];
  readonly templates: readonly SandboxTemplate[];
  readonly pools: readonly SandboxWarmPool[];
  readonly claims: readonly SandboxClaim[];
  readonly snapshots: readonly SandboxSnapshot[];
}

interface Kind {
  readonly group: Group;
  readonly folder: Folder;
  readonly resource: Resource<KubeObject>;
  readonly noun: string;
  readonly note: string;
}

const kinds = {
  sandboxes: {
    group: "Sandboxes",
    folder: "sandboxes",
    resource: sandboxes,
    noun: "sandbox",
    note: "Its files and snapshots are deleted, unless they are to be kept.",
  },
  templates: {
    group: "Templates",
    folder: "templates",
    resource: sandboxTemplates,
    noun: "template",
    note: "Sandboxes that were made from it continue. Its warm pools cannot start further members.",
  },
  pools: {
    group: "Pools",
    folder: "pools",
    resource: sandboxWarmPools,
    noun: "pool",
    note: "Its members are deleted. Sandboxes that were claimed stay.",
  },
  claims: {
    group: "Claims",
    folder: "claims",
    resource: sandboxClaims,
    noun: "claim",
    note: "Its sandbox is deleted with it, with all its files.",
  },
  snapshots: {
    group: "Snapshots",
    folder: "snapshots",
    resource: sandboxSnapshots,
    noun: "snapshot",
    note: "Its files are deleted. Sandboxes that were restored from it keep what they have.",
  },
} as const satisfies Readonly<Record<keyof Objects, Kind>>;

const forms: readonly Form[] = [sandboxForm, templateForm, poolForm, claimForm, snapshotForm];

/** Forms for new objects in the namespace of the user. */
export function createCommands(may: Rights, home: string): Command[] {
  return forms
    .filter(({ resource }) => may("create", resource, home))
    .map((form) => ({
      id: `create ${form.prefix}`,
      title: form.title,
      group: "Actions",
      keywords: "create add",
      weight: 3,
      isFirst: true,
      effect: { do: "open", dialog: { type: "create", form } },
    }));
}

/** Every object, with what can be done with it. */
export function objectCommands(objects: Objects, may: Rights): Command[] {
  const commands: Command[] = [];
  for (const [name, kind] of Object.entries(kinds) as [keyof Objects, Kind][]) {
    for (const object of objects[name]) {
      if (name === "pools" && isShadow(object as SandboxWarmPool)) continue;
      commands.push(pageOf(kind, object), ...actionsOf(name, object, may));
      if (canDelete(kind, object, may)) commands.push(deletionOf(kind, object));
    }
  }
  return commands;
}

function pageOf({ group, folder, noun }: Kind, object: KubeObject): Command {
  const { name = "", namespace = "" } = object.metadata ?? {};
  const state = group === "Sandboxes" ? titleOfState[knownState(object as Sandbox).state] : undefined;
  return {
    id: `go ${folder} ${keyOf(object)}`,
    title: name,
    group,
    detail: [namespace, state].filter(Boolean).join(" · "),
    keywords: `${noun} ${namespace}`,
    weight: 2,
    effect: { do: "go", href: hrefIn(folder, { namespace, name }) },
  };
}

function actionsOf(name: keyof Objects, object: KubeObject, may: Rights): Command[] {
  if (name === "sandboxes") return sandboxActions(object as Sandbox, may);
  if (name === "templates") return templateActions(object as SandboxTemplate, may);
  return name === "pools" ? poolActions(object as SandboxWarmPool, may) : [];
}

function sandboxActions(sandbox: Sandbox, may: Rights): Command[] {
  const { name = "", namespace = "" } = sandbox.metadata;
  const { state } = knownState(sandbox);
  const shared = { group: "Actions", detail: namespace, keywords: `sandbox ${namespace}`, weight: 1 } as const;
  const id = keyOf(sandbox);
  const commands: Command[] = [];
  if (may("patch", sandboxes, namespace)) {
    if (state === "running")
      commands.push({ ...shared, id: `suspend ${id}`, title: `Suspend ${name}`, effect: { do: "suspend", sandbox } });
    if (state === "sleeping")
      commands.push({ ...shared, id: `resume ${id}`, title: `Resume ${name}`, effect: { do: "resume", sandbox } });
  }
  if ((state === "running" || state === "sleeping") && may("create", sandboxSnapshots, namespace)) {
    const initial = { sandbox: name, namespace };
    const effect = { do: "open", dialog: { type: "create", form: snapshotForm, initial } } as const;
    commands.push({ ...shared, id: `snapshot ${id}`, title: `Take a snapshot of ${name}`, effect });
  }
  return commands;
}

function templateActions(template: SandboxTemplate, may: Rights): Command[] {
  const { name = "", namespace = "" } = template.metadata;
  if (!may("create", sandboxClaims, namespace)) return [];
  return [
    {
      id: `start ${keyOf(template)}`,
      title: `Start a sandbox from ${name}`,
      group: "Actions",
      detail: namespace,
      keywords: `template ${namespace} new create`,
      weight: 2,
      effect: { do: "open", dialog: { type: "start", template } },
    },
  ];
}

function poolActions(pool: SandboxWarmPool, may: Rights): Command[] {
  const { name = "", namespace = "" } = pool.metadata;
  if (!may("create", sandboxClaims, namespace)) return [];
  const initial = { pool: name, namespace };
  return [
    {
      id: `claim ${keyOf(pool)}`,
      title: `Claim a sandbox from ${name}`,
      group: "Actions",
      detail: namespace,
      keywords: `pool ${namespace} new create`,
      weight: 2,
      effect: { do: "open", dialog: { type: "create", form: claimForm, initial } },
    },
  ];
}

/** A sandbox with an owner is deleted with it; without it, the owner would start another. */
function canDelete({ resource }: Kind, { metadata }: KubeObject, may: Rights): boolean {
  const isOwned = metadata?.ownerReferences?.some(({ controller }) => controller === true) ?? false;
  const isSandbox = resource === sandboxes;
  return (
    metadata?.deletionTimestamp === undefined &&
    !(isSandbox && isOwned) &&
    may("delete", resource, metadata?.namespace ?? "")
  );
}

function deletionOf({ folder, resource, noun, note }: Kind, object: KubeObject): Command {
  const { name = "", namespace = "" } = object.metadata ?? {};
  return {
    id: `delete ${folder} ${keyOf(object)}`,
    title: `Delete ${noun} ${name}`,
    group: "Actions",
    detail: namespace,
    keywords: `remove ${namespace}`,
    isDanger: true,
    effect: { do: "open", dialog: { type: "delete", resource, object, noun, note } },
  };
}

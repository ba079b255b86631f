/** A command of the palette, and what it does when it is chosen. */
import type { Sandbox, SandboxTemplate } from "@agent-sandbox/api";
import type { Form } from "../create/forms.ts";
import type { Values } from "../create/manifests.ts";
import type { KubeObject, Resource } from "../data/resources.ts";
import type { Theme, Zone } from "../shell/preferences.tsx";
import type { Rankable } from "./rank.ts";

export type PaletteDialog =
  | { readonly type: "create"; readonly form: Form; readonly initial?: Values }
  | { readonly type: "start"; readonly template: SandboxTemplate }
  | {
      readonly type: "delete";
      readonly resource: Resource<KubeObject>;
      readonly object: KubeObject;
      readonly noun: string;
      /** What else is deleted. */
      readonly note: string;
    };

export type Effect =
  | { readonly do: "go"; readonly href: string }
  | { readonly do: "open"; readonly dialog: PaletteDialog }
  | { readonly do: "suspend" | "resume"; readonly sandbox: Sandbox }
  | { readonly do: "theme"; readonly theme: Theme }
  | { readonly do: "zone"; readonly zone: Zone }
  | { readonly do: "namespace"; readonly namespace: string | undefined }
  | { readonly do: "log-out" };

export const groups = [
  "Pages",
  "Actions",
  "Sandboxes",
  "Templates",
  "Pools",
  "Claims",
  "Snapshots",
  "Namespaces",
  "Settings",
] as const;
export type Group = (typeof groups)[number];

export interface Command extends Rankable {
  /** Unique. */
  readonly id: string;
  readonly group: Group;
  /** Faint text beside the title. */
  readonly detail?: string | undefined;
  readonly effect: Effect;
}

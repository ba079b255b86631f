import type { Pod } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import type { Rule } from "../pod/field-rules.ts";
import type { Machine } from "../pod/machine.ts";
import type { Allowances } from "../pod/observed.ts";
import type { VolumePlace } from "../pod/record.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import type { SourceSnapshot } from "./sources.ts";

export type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

export interface VolumeContext {
  readonly machine: Machine;
  readonly client: Client;
  readonly pod: Pod;
  readonly address: string;
  readonly hostAddress: string;
  /** The volume's own folder, which goes with the Pod. It need not exist yet. */
  readonly folder: string;
  /** No container of the Pod has run yet. */
  readonly isNew: boolean;
  /** Opens the Pod's users, if it has its own. */
  readonly users?: (() => Promise<OpenUsers>) | undefined;
  /** The ConfigMaps and Secrets the Pod names. */
  readonly sources: SourceSnapshot;
  /** The ids of the images that volumes show, by volume. They are here. */
  readonly images: Readonly<Record<string, string>>;
}

export interface MountedVolume extends VolumePlace {
  /** When it has to be mounted again to stay good. */
  readonly refreshAt?: number;
}

/**
 * One kind of volume: what a Pod may ask of it, and how it is made. A new kind is a file with one of these and a line
 * in `kinds.ts`.
 */
export interface VolumeKind {
  /** The member of a volume that asks for this kind. */
  readonly field: string;
  rule(allow: Allowances): Rule;
  /**
   * Makes the volume, or brings it up to date: it is called again after a crash, and whenever what the volume is filled
   * from has changed. What it mounts below its folder is unmounted with the Pod. Fails with the reason `FailedMount`.
   */
  mount(volume: Volume, context: VolumeContext): Promise<MountedVolume>;
  /** Whether the Pod's `fsGroup` gets its files: `write` for what containers may change, `read` for what they may not. */
  readonly group?: "read" | "write";
}

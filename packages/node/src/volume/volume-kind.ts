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
  /** The volume's own folder, which is removed with the Pod. It need not exist yet. */
  readonly folder: string;
  /** Whether no container of the Pod has run yet. */
  readonly isNew: boolean;
  /** Opens the Pod's user namespace, if it has one. */
  readonly users?: (() => Promise<OpenUsers>) | undefined;
  /** The ConfigMaps and Secrets that the Pod references. */
  readonly sources: SourceSnapshot;
  /** The ids of the images of image volumes, by volume name. They are in the store. */
  readonly images: Readonly<Record<string, string>>;
}

export interface MountedVolume extends VolumePlace {
  /** When `mount` must be called again, because a token expires. */
  readonly refreshAt?: number;
}

/** One kind of volume: its validation and how it is mounted. To add a kind, write a file with one and list it in `kinds.ts`. */
export interface VolumeKind {
  /** The field of a volume in the Pod's spec that selects this kind. */
  readonly field: string;
  rule(allow: Allowances): Rule;
  /**
   * Creates or updates the volume. Called again after a crash, and whenever an object in the volume has changed. Mounts below
   * its folder are unmounted with the Pod. Throws with the reason `FailedMount`.
   */
  mount(volume: Volume, context: VolumeContext): Promise<MountedVolume>;
  /** Whether the Pod's `fsGroup` owns the files: `write` for volumes that containers may write to, `read` for others. */
  readonly group?: "read" | "write";
}

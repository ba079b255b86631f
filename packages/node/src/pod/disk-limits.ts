import { join } from "node:path";
import type { Pod, PodSpec } from "@agent-sandbox/api";
import { keptPaths } from "../image/kept-rootfs.ts";
import { containerPaths, type Layout, podPaths } from "../layout.ts";
import { amountOf } from "../oci/quantity.ts";
import { membersOf } from "./members.ts";
import type { PodRecord } from "./record.ts";
import type { Problem } from "./status.ts";

type Volume = NonNullable<PodSpec["volumes"]>[number];

/** A limit on the disk usage of several paths together. */
export interface DiskLimit {
  readonly paths: readonly string[];
  readonly bytes: number;
  /** Why a Pod above the limit is evicted. */
  readonly verdict: Problem;
}

export interface DiskPlace {
  readonly layout: Layout;
  /** The field of the Pod's record. */
  readonly keptFor?: string | undefined;
}

/** Where a container writes: its writable layer, its logs and its termination message. */
export function pathsOfContainer(pod: Pod, { layout, keptFor = "" }: DiskPlace, container: string): string[] {
  const { upper, logs, messages } = containerPaths(layout, pod.metadata?.uid ?? "", container);
  return [keptFor === "" ? upper : keptPaths(layout, keptFor, container).upper, logs, messages];
}

/** Everything on the disk that is deleted with the Pod: its containers' files and its emptyDir volumes. */
export function pathsOfPod(pod: Pod, place: DiskPlace): string[] {
  return [
    ...membersOf(pod).flatMap(({ container }) => pathsOfContainer(pod, place, container.name)),
    ...emptyDirsOf(pod).map(({ name }) => volumePath(pod, place.layout, name)),
  ];
}

/** The limits of each volume, of each container, and of the whole Pod. */
export function diskLimitsOf(pod: Pod, place: DiskPlace, podBytes: number): DiskLimit[] {
  return [
    ...emptyDirsOf(pod).flatMap(({ name, emptyDir }) =>
      limit(
        [volumePath(pod, place.layout, name)],
        emptyDir?.sizeLimit,
        `Usage of EmptyDir volume "${name}" exceeds the limit`,
      ),
    ),
    ...membersOf(pod).flatMap(({ container: { name, resources } }) =>
      limit(
        pathsOfContainer(pod, place, name),
        resources?.limits?.["ephemeral-storage"],
        `Container ${name} exceeded its local ephemeral storage limit`,
      ),
    ),
    ...limit(
      pathsOfPod(pod, place),
      String(podBytes),
      "Pod ephemeral local storage usage exceeds the limit of this node",
    ),
  ];
}

/** The volume of a claim, and the size that the claim requests. */
export interface ClaimedVolume {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

export function claimedVolumesOf({ volumes = {} }: PodRecord): ClaimedVolume[] {
  return Object.values(volumes).flatMap(({ path, claim }) => (claim === undefined ? [] : [{ ...claim, path }]));
}

/** The event text for a claim that uses more than it requests, or undefined. */
export function overfull({ name, bytes }: ClaimedVolume, usedBytes: number): string | undefined {
  if (usedBytes <= bytes) return undefined;
  return `Claim "${name}" holds ${usedBytes} bytes, more than the ${bytes} it asked for`;
}

/** The emptyDir volumes on the disk. The kernel limits those in memory. */
function emptyDirsOf({ spec }: Pod): Volume[] {
  return (spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir && emptyDir.medium !== "Memory");
}

function volumePath({ metadata }: Pod, layout: Layout, volume: string): string {
  return join(podPaths(layout, metadata?.uid ?? "").volumes, volume);
}

function limit(paths: readonly string[], quantity: string | undefined, text: string): DiskLimit[] {
  const bytes = quantity === undefined ? undefined : amountOf(quantity);
  if (bytes === undefined) return [];
  return [{ paths, bytes, verdict: { reason: "Evicted", message: `${text} "${quantity}". ` } }];
}

/** The verdict of the first limit that the usage exceeds. */
export function excessOf(limits: readonly DiskLimit[], usage: ReadonlyMap<string, number>): Problem | undefined {
  return limits.find(({ paths, bytes }) => paths.reduce((sum, path) => sum + (usage.get(path) ?? 0), 0) > bytes)
    ?.verdict;
}

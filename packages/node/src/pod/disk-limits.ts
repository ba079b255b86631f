import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { keptPaths, keptValue } from "../image/kept-rootfs.ts";
import { containerPaths, type Layout, podPaths } from "../layout.ts";
import { amountOf } from "../oci/quantity.ts";
import { membersOf } from "./members.ts";
import type { PodRecord } from "./record.ts";
import type { Problem } from "./status.ts";

/** What lies at some paths may take so much of the disk, together. */
export interface DiskLimit {
  readonly paths: readonly string[];
  readonly bytes: number;
  /** What becomes of a Pod that takes more. */
  readonly verdict: Problem;
}

/** Everything that is limited of a Pod: single volumes, single containers, and all of it together. */
export function diskLimitsOf(pod: Pod, record: PodRecord, layout: Layout, podBytes: number): DiskLimit[] {
  const volumes = (pod.spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir && emptyDir.medium !== "Memory");
  const folderOf = (volume: string): string => join(podPaths(layout, record.uid).volumes, volume);
  const writtenBy = (container: string): string[] => {
    const { upper, logs, messages } = containerPaths(layout, record.uid, container);
    const value = keptValue(pod.metadata?.annotations);
    return [value === undefined ? upper : keptPaths(layout, value, container).upper, logs, messages];
  };
  const members = membersOf(pod).map(({ container }) => container);
  return [
    ...volumes.flatMap(({ name, emptyDir }) =>
      limit([folderOf(name)], emptyDir?.sizeLimit, `Usage of EmptyDir volume "${name}" exceeds the limit`),
    ),
    ...members.flatMap(({ name, resources }) =>
      limit(
        writtenBy(name),
        resources?.limits?.["ephemeral-storage"],
        `Container ${name} exceeded its local ephemeral storage limit`,
      ),
    ),
    ...limit(
      [...members.flatMap(({ name }) => writtenBy(name)), ...volumes.map(({ name }) => folderOf(name))],
      String(podBytes),
      "Pod ephemeral local storage usage exceeds the limit of this node",
    ),
  ];
}

function limit(paths: readonly string[], quantity: string | undefined, text: string): DiskLimit[] {
  const bytes = quantity === undefined ? undefined : amountOf(quantity);
  if (bytes === undefined) return [];
  return [{ paths, bytes, verdict: { reason: "Evicted", message: `${text} "${quantity}". ` } }];
}

/** The first limit that a Pod is above. */
export function excessOf(limits: readonly DiskLimit[], usage: ReadonlyMap<string, number>): Problem | undefined {
  return limits.find(({ paths, bytes }) => paths.reduce((sum, path) => sum + (usage.get(path) ?? 0), 0) > bytes)
    ?.verdict;
}

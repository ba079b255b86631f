import type { Pod, Sandbox, SandboxSnapshotSpec } from "@agent-sandbox/api";
import type { PodRecord } from "../pod/record.ts";
import { StateError } from "./state-error.ts";

/** A volume whose files are part of a snapshot. */
export interface CapturedVolume {
  readonly name: string;
  readonly path: string;
  /** Whether it belongs to a claim, which outlives the Pod, or to the Pod. */
  readonly isClaim: boolean;
  /** Whether its files are in memory. */
  readonly isMemory: boolean;
}

/**
 * The volumes that a snapshot contains: the Pod's own folders always, because its processes may have files open there, and the
 * claims of the Sandbox unless they are excluded. Volumes made from API objects and images are made again. Throws `VolumeNotLocal`
 * for any other claim or folder that is not excluded: it is not part of the Sandbox's state, others may write to it, and a rollback
 * must not change it.
 */
export function volumesToCapture(
  { spec }: Pod,
  sandbox: Sandbox,
  { volumes: places = {} }: Pick<PodRecord, "volumes">,
  { volumes: wanted }: Pick<SandboxSnapshotSpec, "volumes">,
): readonly CapturedVolume[] {
  return (spec?.volumes ?? []).flatMap(({ name, emptyDir, persistentVolumeClaim, hostPath }): CapturedVolume[] => {
    const path = places[name]?.path;
    if (path === undefined) return [];
    if (emptyDir !== undefined) return [{ name, path, isClaim: false, isMemory: emptyDir.medium === "Memory" }];
    if ((persistentVolumeClaim ?? hostPath) === undefined || wanted === "Exclude") return [];
    if (isOwnClaim(sandbox, name)) return [{ name, path, isClaim: true, isMemory: false }];
    const why = `the volume "${name}" does not belong to the Sandbox alone; with "volumes: Exclude" it is left out`;
    throw new StateError("VolumeNotLocal", `Cannot take a snapshot: ${why}`);
  });
}

/** Whether a volume of the Pod is made from a claim template of the Sandbox. It has the name of the template. */
export function isOwnClaim({ spec }: Sandbox, volume: string): boolean {
  return spec.volumeClaimTemplates?.some(({ metadata }) => metadata?.name === volume) === true;
}

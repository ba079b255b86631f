import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { podPaths } from "../layout.ts";
import type { VolumePlace } from "../pod/record.ts";
import { apiAccessVolume, hasApiAccess, mountApiAccess } from "./api-access.ts";
import { giveToGroup } from "./group-ownership.ts";
import { kindOf } from "./kinds.ts";
import type { VolumeContext } from "./volume-kind.ts";

export interface MountedVolumes {
  readonly volumes: Readonly<Record<string, VolumePlace>>;
  readonly refreshVolumesAt?: number;
}

/** Creates or updates all volumes of a Pod. */
export async function mountVolumes(uid: string, context: Omit<VolumeContext, "folder">): Promise<MountedVolumes> {
  const { pod, machine } = context;
  const root = podPaths(machine.layout, uid).volumes;
  const volumes: Record<string, VolumePlace> = {};
  const times: number[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const kind = kindOf(volume);
    try {
      if (kind === undefined) throw new Error("this node does not support volumes of this kind");
      const { refreshAt, ...place } = await kind.mount(volume, { ...context, folder: join(root, volume.name) });
      if (refreshAt !== undefined) times.push(refreshAt);
      const group = pod.spec?.securityContext?.fsGroup;
      if (group !== undefined && kind.group === "write" && context.isNew) await giveToGroup(place.path, group);
      volumes[volume.name] = place;
    } catch (error) {
      const reason = error instanceof NodeError && error.reason === "ErrImagePull" ? "ErrImagePull" : "FailedMount";
      const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${messageOf(error)}`;
      throw new NodeError(reason, message, { cause: error });
    }
  }
  if (hasApiAccess(pod, machine)) {
    const { refreshAt, ...place } = await mountApiAccess({ ...context, folder: join(root, apiAccessVolume) });
    if (refreshAt !== undefined) times.push(refreshAt);
    volumes[apiAccessVolume] = place;
  }
  return { volumes, ...(times.length > 0 && { refreshVolumesAt: Math.min(...times) }) };
}

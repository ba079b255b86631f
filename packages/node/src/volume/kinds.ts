import { configMap } from "./config-map.ts";
import { downwardApi } from "./downward-api.ts";
import { emptyDir } from "./empty-dir.ts";
import { hostPath } from "./host-path.ts";
import { imageVolume } from "./image-volume.ts";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";
import { projected } from "./projected.ts";
import { secret } from "./secret.ts";
import type { Volume, VolumeKind } from "./volume-kind.ts";

export const volumeKinds: readonly VolumeKind[] = [
  configMap,
  downwardApi,
  emptyDir,
  hostPath,
  imageVolume,
  persistentVolumeClaim,
  projected,
  secret,
];

export function kindOf(volume: Volume): VolumeKind | undefined {
  return volumeKinds.find(({ field }) => (volume as unknown as Record<string, unknown>)[field] !== undefined);
}

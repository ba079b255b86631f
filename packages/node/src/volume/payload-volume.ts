import { mkdir } from "node:fs/promises";
import { mountsUnder, mountTmpfs } from "../system/mounts.ts";
import { writeAtomically } from "./atomic-writer.ts";
import type { Payload } from "./payload.ts";
import type { MountedVolume, VolumeContext } from "./volume-kind.ts";

/** More than the size limit of API objects. */
const memoryBytes = 16 * 2 ** 20;

/** Writes the files to a folder atomically. Containers cannot write to it. */
export async function mountPayload(
  payload: Payload,
  { folder, pod }: VolumeContext,
  { inMemory = false }: { inMemory?: boolean } = {},
): Promise<MountedVolume> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  if (inMemory && !(await mountsUnder(folder)).includes(folder)) {
    mountTmpfs(folder, { sizeBytes: memoryBytes, mode: 0o755 });
  }
  await writeAtomically(folder, payload, pod.spec?.securityContext?.fsGroup);
  return { path: folder, readOnly: true };
}

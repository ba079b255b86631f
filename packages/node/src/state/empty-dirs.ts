import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { hasCode } from "../errors.ts";
import { type Layout, podPaths } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { mountsUnder } from "../system/mounts.ts";
import { runCommand } from "../system/run-command.ts";
import { syncTree } from "./clone-tree.ts";
import { volumesFolder } from "./image-files.ts";
import type { CheckpointTarget, OpenCheckpoint } from "./image-vault.ts";

/**
 * An emptyDir volume is removed with its Pod. When the Pod is saved, the processes in the image use its files, so the next Pod must
 * have them too. Folders on the disk move into the image when it is complete and the processes never run again, folders in memory
 * are copied into it while the processes stand still.
 */

const copyTimeoutMs = 10 * 60_000;

/** Copies the volumes in memory of a paused Pod into an image, and syncs them: the Pod ends when the image is complete. */
export async function copyMemoryVolumes(
  layout: Layout,
  pod: Pod,
  image: string,
  { addVolume }: Pick<CheckpointTarget, "addVolume">,
): Promise<void> {
  const { volumes } = podPaths(layout, pod.metadata?.uid ?? "");
  const names = emptyDirs(pod, "Memory");
  for (const name of names) {
    if (addVolume === undefined) await copy(join(volumes, name), join(volumesFolder(image), name));
    else await addVolume(name, join(volumes, name));
  }
  if (names.length > 0) await syncTree(volumesFolder(image));
}

export function hasVolumesToMove(pod: Pod): boolean {
  return emptyDirs(pod, "").length > 0;
}

/** Moves the volumes on the disk of an ended Pod into its image. */
export async function moveVolumesOut(layout: Layout, pod: Pod, image: string): Promise<void> {
  const { volumes } = podPaths(layout, pod.metadata?.uid ?? "");
  for (const name of emptyDirs(pod, "")) await move(join(volumes, name), join(volumesFolder(image), name));
}

/** Gives a Pod the volumes of its image. Its own are empty, because nothing has run in it. */
export async function moveVolumesIn(
  layout: Layout,
  uid: string,
  image: string,
  { fillVolumes }: Pick<OpenCheckpoint, "fillVolumes">,
): Promise<void> {
  const { volumes } = podPaths(layout, uid);
  await fillVolumes((name) => join(volumes, name));
  for (const name of await namesIn(volumesFolder(image))) {
    const [source, target] = [join(volumesFolder(image), name), join(volumes, name)];
    if ((await mountsUnder(target)).includes(target)) await copy(source, target);
    else await move(source, target);
  }
}

function emptyDirs({ spec }: Pod, medium: "" | "Memory"): string[] {
  const volumes = spec?.volumes ?? [];
  return volumes.flatMap(({ name, emptyDir }) =>
    emptyDir !== undefined && (emptyDir.medium ?? "") === medium ? [name] : [],
  );
}

async function copy(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await runCommand("cp", ["--archive", "--", `${source}/.`, target], { timeoutMs: copyTimeoutMs });
}

/** Does nothing if an earlier process has moved the folder. */
async function move(source: string, target: string): Promise<void> {
  const content = await readdir(source).catch((error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
  });
  if (content === undefined) return;
  await rm(target, { recursive: true, force: true });
  await rename(source, target);
}

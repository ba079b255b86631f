import { mkdir } from "node:fs/promises";
import type { ContainerPaths } from "../layout.ts";
import { mountOverlay, mountsUnder } from "../system/mounts.ts";
import type { Image } from "./image-store.ts";

/** Joins an image's layers with the container's own. Already there: nothing to do. */
export async function mountRootfs(image: Image, paths: ContainerPaths): Promise<void> {
  if ((await mountsUnder(paths.rootfs)).includes(paths.rootfs)) return;
  await Promise.all(
    [paths.upper, paths.work, paths.rootfs].map((folder) => mkdir(folder, { recursive: true, mode: 0o755 })),
  );
  await mountOverlay(paths.rootfs, { lower: image.layers, upper: paths.upper, work: paths.work });
}

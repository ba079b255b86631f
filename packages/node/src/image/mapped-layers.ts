import { closeSync, constants, openSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Layout } from "../layout.ts";
import { asFileUser } from "../system/file-user.ts";
import { withMappedTree } from "../system/mount-tree.ts";
import { mountDescriptors, mountSingleLayer, type OverlayDescriptors } from "../system/mounts.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import type { WritableLayer } from "./rootfs.ts";

/** Names a folder without opening its content. */
const pathOnly = 0o10_000_000;

/**
 * Joins layers for a Pod with users of its own: on the disk files belong to the ids they have inside the Pod, and they are
 * shown as the machine's ids that stand for them. What is kept of a Pod therefore fits any other.
 */
export async function mountMappedLayers(
  target: string,
  layers: readonly string[],
  { layout, users, writable }: { layout: Layout; users: OpenUsers; writable?: WritableLayer },
): Promise<void> {
  const images = await realpath(layout.imagesDir);
  const inside = await Promise.all(layers.map(async (layer) => relative(images, await realpath(layer))));
  const tree = (source: string) => ({ source, userNamespace: users.descriptor });
  const mount = (overlay: OverlayDescriptors): void => asFileUser(users.root, () => mountDescriptors(target, overlay));
  withMappedTree(tree(images), (below) =>
    withFolders(below, inside, (lower) => {
      if (writable === undefined) return lower.length > 1 ? mount({ lower }) : mountSingleLayer(target, lower[0] ?? -1);
      const { upper, work } = writable;
      return withMappedTree(tree(dirname(upper)), (above) =>
        withFolders(
          above,
          [upper, work].map((path) => relative(dirname(upper), path)),
          ([upperFolder = -1, workFolder = -1]) => mount({ lower, upper: upperFolder, work: workFolder }),
        ),
      );
    }),
  );
}

/** Descriptors of folders below another; none of them is one that a container can write to. */
function withFolders<T>(base: number, paths: readonly string[], use: (descriptors: number[]) => T): T {
  const open: number[] = [];
  try {
    for (const path of paths) {
      open.push(openSync(join(`/proc/self/fd/${base}`, path), pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW));
    }
    return use(open);
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}

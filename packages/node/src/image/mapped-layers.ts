import { realpath } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import type { Layout } from "../layout.ts";
import { asFileUser } from "../system/file-user.ts";
import { withMappedTree } from "../system/mount-tree.ts";
import { mountDescriptors, mountSingleLayer, type OverlayDescriptors, withFolders } from "../system/mounts.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import type { WritableLayer } from "./rootfs.ts";

/**
 * Mounts layers for a Pod with a user namespace. On the disk, files are owned by the ids they have inside the Pod, and
 * idmapped mounts translate these to the Pod's range of host ids. Kept layers can therefore be used by any later Pod.
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
    withFolders(inFolder(below, inside), (lower) => {
      if (writable === undefined) return lower.length > 1 ? mount({ lower }) : mountSingleLayer(target, lower[0] ?? -1);
      const { upper, work } = writable;
      return withMappedTree(tree(dirname(upper)), (above) =>
        withFolders(inFolder(above, [basename(upper), basename(work)]), ([upperFolder = -1, workFolder = -1]) =>
          mount({ lower, upper: upperFolder, work: workFolder }),
        ),
      );
    }),
  );
}

const inFolder = (descriptor: number, paths: readonly string[]): string[] =>
  paths.map((path) => join(`/proc/self/fd/${descriptor}`, path));

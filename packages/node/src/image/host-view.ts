import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { mountMapped } from "../system/mount-tree.ts";
import { mountReadOnlyLayers, mountsUnder, unmount } from "../system/mounts.ts";
import { noOwners, openUserNamespace } from "../system/user-namespace.ts";
import { hide, hideContent } from "./overlay-marks.ts";

/** A folder of the machine, and the paths below it that no sandbox may see. These need not exist yet. */
export interface HostFolder {
  readonly path: string;
  readonly hidden: readonly string[];
  /**
   * Maps no owners into the mount, so that the kernel applies the permissions of "others" to everybody, root included. Files
   * that are private, or become private later, cannot be read. Throws where the kernel or the filesystem does not support it.
   */
  readonly withoutOwners: boolean;
}

/**
 * Mounts a view of a folder of the machine without its hidden paths, and returns the mount point. An overlay over the
 * folder hides the paths, not a mask in each sandbox, because gVisor does not support masked paths. The view does not
 * survive a reboot. Sandboxes keep the view they started with when a new one replaces it.
 */
export async function mountHostView(layout: Layout, folder: HostFolder): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify(folder)).digest("hex").slice(0, 16);
  const name = folder.path.replaceAll("/", "");
  const own = join(viewsFolder(layout), `${name}-${digest}`);
  const [marks, target] = [join(own, "marks"), join(own, "view")];
  if ((await mountsUnder(target)).includes(target)) return target;
  await rm(own, { recursive: true, force: true });
  await mkdir(target, { recursive: true, mode: 0o700 });
  await copyAttributes(folder.path, marks);
  for (const hidden of folder.hidden) await cover(folder.path, marks, hidden);
  if (folder.withoutOwners) await mountWithoutOwners(target, marks, { path: folder.path, at: join(own, "folder") });
  else await mountReadOnlyLayers(target, [marks, folder.path]);
  await removeOthers(layout, name, own);
  return target;
}

/** The overlay holds a reference to the idmapped mount, so the mount point is only needed while the overlay is mounted. */
async function mountWithoutOwners(
  target: string,
  marks: string,
  { path, at }: { readonly path: string; readonly at: string },
): Promise<void> {
  await mkdir(at, { mode: 0o700 });
  await using namespace = await openUserNamespace({ ids: noOwners });
  mountMapped({ source: path, target: at, userNamespace: namespace.fd });
  try {
    await mountReadOnlyLayers(target, [marks, at]);
  } finally {
    await unmount([at]);
  }
}

function viewsFolder(layout: Layout): string {
  return join(layout.runDir, "host");
}

/** Hides a file, shows a folder as empty, and keeps a path that does not exist yet hidden when it is created later. */
async function cover(root: string, marks: string, hidden: string): Promise<void> {
  if (!hidden.startsWith(`${root}/`)) return;
  const first = await firstMissing(root, hidden);
  const found = first === undefined ? await lstat(hidden) : undefined;
  const path = join(marks, (first ?? hidden).slice(root.length));
  await makeParents(root, marks, dirname(first ?? hidden));
  if (found?.isDirectory()) {
    await copyAttributes(hidden, path);
    hideContent(path);
  } else if ((await lstat(path).catch(() => undefined)) === undefined) hide(path);
}

/** The topmost ancestor of a path, or the path itself, that does not exist. */
async function firstMissing(root: string, path: string): Promise<string | undefined> {
  if (path === root) return undefined;
  const above = await firstMissing(root, dirname(path));
  if (above !== undefined) return above;
  return (await lstat(path).catch(() => undefined)) === undefined ? path : undefined;
}

/** overlayfs merges the parent folders and takes their attributes from the upper layer, so they are copied there. */
async function makeParents(root: string, marks: string, folder: string): Promise<void> {
  if (folder === root) return;
  await makeParents(root, marks, dirname(folder));
  await copyAttributes(folder, join(marks, folder.slice(root.length)));
}

async function copyAttributes(from: string, to: string): Promise<void> {
  const { mode, uid, gid } = await lstat(from);
  await mkdir(to, { recursive: true });
  await chown(to, uid, gid);
  await chmod(to, mode & 0o7777);
}

async function removeOthers(layout: Layout, name: string, own: string): Promise<void> {
  const views = (await namesIn(viewsFolder(layout)))
    .filter((one) => one.startsWith(`${name}-`))
    .map((one) => join(viewsFolder(layout), one))
    .filter((path) => path !== own);
  for (const path of views) {
    await unmount(await mountsUnder(path));
    await rm(path, { recursive: true, force: true });
  }
}

import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { mountReadOnlyLayers, mountsUnder, unmount } from "../system/mounts.ts";
import { hide, hideContent } from "./overlay-marks.ts";

/** A folder of the machine, and what of it nobody in a sandbox may see: paths below it. */
export interface HostFolder {
  readonly path: string;
  readonly hidden: readonly string[];
}

/**
 * Shows a folder of the machine without its private parts, and returns where. They are covered on the way, by an overlay
 * over the folder, and not in each sandbox: runtimes with a kernel of their own do not cover paths. The view does not
 * outlive a reboot; sandboxes keep theirs when another takes its place.
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
  await mountReadOnlyLayers(target, [marks, folder.path]);
  await removeOthers(layout, name, own);
  return target;
}

function viewsFolder(layout: Layout): string {
  return join(layout.runDir, "host");
}

/** A file is gone, a folder is empty. */
async function cover(root: string, marks: string, hidden: string): Promise<void> {
  const found = await lstat(hidden).catch(() => undefined);
  if (found === undefined || !hidden.startsWith(`${root}/`)) return;
  const path = join(marks, hidden.slice(root.length));
  await makeParents(root, marks, dirname(hidden));
  if (found.isDirectory()) {
    await copyAttributes(hidden, path);
    hideContent(path);
  } else if ((await lstat(path).catch(() => undefined)) === undefined) hide(path);
}

/** The folders on the way show through, with the attributes of the upper one. */
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

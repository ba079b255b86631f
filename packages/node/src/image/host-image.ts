import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Layout } from "../layout.ts";
import type { OciMount } from "../oci/spec.ts";
import { runCommand } from "../system/run-command.ts";
import { mountHostView } from "./host-view.ts";
import type { Image } from "./image-store.ts";
import { imagesInUse } from "./in-use.ts";
import { planSkeleton, writeSkeleton } from "./skeleton.ts";

/** Ends at once when asked to, and otherwise stays: something to exec into. */
const defaultCommand: readonly string[] = [
  "/bin/sh",
  "-c",
  'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done',
];

const environment: ReadonlyMap<string, string> = new Map([
  ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  ["LANG", "C.UTF-8"],
]);

/**
 * Configuration of the machine's administrator that lies under /usr by custom: package managers keep registry
 * addresses and tokens there.
 */
const administration: readonly string[] = ["/usr/etc", "/usr/local/etc"];

/**
 * The built-in image: the machine's own programs, read-only, under a root folder of ours. They are taken for public but
 * for the administrator's configuration and for whatever other users of the machine may not read: root inside a
 * sandbox has root's id, so the permission alone would not stop it. Earlier forms of the image that no Pod uses go.
 */
export async function openHostImage(layout: Layout): Promise<Image> {
  const [layer, mounts] = await Promise.all([
    planSkeleton().then((entries) => writeSkeleton(layout.imagesDir, entries)),
    programFolders().then((folders) => Promise.all(folders.map((folder) => mountFolder(layout, folder)))),
  ]);
  await removeOthers(layout.imagesDir, new Set([...(await imagesInUse(layout)), basename(layer)]));
  return {
    id: basename(layer),
    layers: [layer],
    config: { command: defaultCommand, environment, workingDir: "/", mounts },
  };
}

async function mountFolder(layout: Layout, path: string): Promise<OciMount> {
  // Of the box's own files not all are there yet that nobody may read.
  const hidden = [...administration, dirname(layout.dataDir), ...(await findPrivate(path))];
  const source = await mountHostView(layout, { path, hidden: hidden.filter((one) => one.startsWith(`${path}/`)) });
  return { destination: path, type: "bind", source, options: ["rbind", "rro", "nosuid", "nodev"] };
}

async function removeOthers(imagesDir: string, inUse: ReadonlySet<string>): Promise<void> {
  const others = (await readdir(imagesDir)).filter((name) => /^(host|\.new)-/.test(name) && !inUse.has(name));
  await Promise.all(others.map((name) => rm(join(imagesDir, name), { recursive: true, force: true })));
}

/** Where /bin and its like are no links into /usr, they are folders of programs of their own. */
async function programFolders(): Promise<string[]> {
  const folders = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"];
  const found = await Promise.all(folders.map((path) => lstat(path).catch(() => undefined)));
  return folders.filter((_, index) => found[index]?.isDirectory());
}

async function findPrivate(folder: string): Promise<string[]> {
  const conditions = ["(", "-type", "f", "-o", "-type", "d", ")", "!", "-perm", "-o+r", "-print0", "-prune"];
  const found = await runCommand("find", [folder, "-xdev", ...conditions], { timeoutMs: 120_000 });
  return found.split("\0").filter(Boolean);
}

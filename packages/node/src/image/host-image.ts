import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Layout } from "../layout.ts";
import type { OciMount } from "../oci/spec.ts";
import { runCommand } from "../system/run-command.ts";
import { mountHostView } from "./host-view.ts";
import type { Image } from "./image-store.ts";
import { imagesInUse } from "./in-use.ts";
import { planSkeleton, writeSkeleton } from "./skeleton.ts";

/** Runs until it is signalled, so that users can exec into the container, and exits at once on SIGTERM. */
const defaultCommand: readonly string[] = [
  "/bin/sh",
  "-c",
  'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done',
];

const environment: ReadonlyMap<string, string> = new Map([
  ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  ["LANG", "C.UTF-8"],
]);

/** The administrator's configuration under /usr. Package managers keep registry addresses and tokens there. */
const administration: readonly string[] = ["/usr/etc", "/usr/local/etc"];

/** How long the result of a search for private files is used where the kernel cannot enforce their permissions. */
const searchHoldsMs = 10_000;

/**
 * The built-in image `host`: the machine's own programs, read-only, under a root folder that the node writes. A sandbox
 * sees what an unprivileged user of the machine sees, except the administrator's configuration. Where the kernel cannot
 * enforce that for root in a runc container, the node searches for private files and hides them, again for later Pods.
 */
export function hostImage(layout: Layout, now: () => number): () => Promise<Image> {
  let opened: { readonly result: Promise<Opened>; readonly at: number } | undefined;
  return async () => {
    const known = opened;
    const before = await known?.result.catch(() => undefined);
    if (known !== undefined && before !== undefined) {
      if (!before.isSearched || now() - known.at < searchHoldsMs) return before.image;
    }
    if (opened === known) opened = { result: openHostImage(layout), at: now() };
    return (await (opened as NonNullable<typeof opened>).result).image;
  };
}

interface Opened {
  readonly image: Image;
  /** Private files were hidden by a search, so files that become private later can be read until the next search. */
  readonly isSearched: boolean;
}

/** Builds the image and removes earlier versions of it that no Pod uses. */
async function openHostImage(layout: Layout): Promise<Opened> {
  const [layer, views] = await Promise.all([
    planSkeleton().then((entries) => writeSkeleton(layout.imagesDir, entries)),
    programFolders().then((folders) => Promise.all(folders.map((folder) => showFolder(layout, folder)))),
  ]);
  await removeOthers(layout.imagesDir, new Set([...(await imagesInUse(layout)), basename(layer)]));
  const mounts = views.map(({ mount }) => mount);
  const image: Image = {
    id: basename(layer),
    layers: [layer],
    config: { command: defaultCommand, environment, workingDir: "/", mounts },
  };
  return { image, isSearched: views.some(({ isSearched }) => isSearched) };
}

async function showFolder(layout: Layout, path: string): Promise<{ mount: OciMount; isSearched: boolean }> {
  const hidden = [...administration, dirname(layout.dataDir)].filter((one) => one.startsWith(`${path}/`));
  const view = await mountHostView(layout, { path, hidden, withoutOwners: true }).catch(() => undefined);
  const source = view ?? (await mountSearched(layout, path, hidden));
  const options = ["rbind", "rro", "nosuid", "nodev"];
  return { mount: { destination: path, type: "bind", source, options }, isSearched: view === undefined };
}

async function mountSearched(layout: Layout, path: string, hidden: readonly string[]): Promise<string> {
  return mountHostView(layout, { path, hidden: [...hidden, ...(await findPrivate(path))], withoutOwners: false });
}

async function removeOthers(imagesDir: string, inUse: ReadonlySet<string>): Promise<void> {
  const others = (await readdir(imagesDir)).filter((name) => /^(host|\.new)-/.test(name) && !inUse.has(name));
  await Promise.all(others.map((name) => rm(join(imagesDir, name), { recursive: true, force: true })));
}

/** The folders that contain programs: /usr, and /bin and so on where they are not symbolic links into /usr. */
async function programFolders(): Promise<string[]> {
  const folders = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"];
  const found = await Promise.all(folders.map((path) => lstat(path).catch(() => undefined)));
  return folders.filter((_, index) => found[index]?.isDirectory());
}

/** Files that others may not read, and folders that others may not list or enter. */
export async function findPrivate(folder: string): Promise<string[]> {
  const files = ["-type", "f", "!", "-perm", "-o+r"];
  const folders = ["-type", "d", "!", "-perm", "-o+rx"];
  const conditions = ["(", ...files, "-o", ...folders, ")", "-print0", "-prune"];
  const found = await runCommand("find", [folder, "-xdev", ...conditions], { timeoutMs: 120_000 });
  return found.split("\0").filter(Boolean);
}

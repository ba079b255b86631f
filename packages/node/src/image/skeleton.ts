import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode, NodeError } from "../errors.ts";

/** One file, folder or link in the root folder of the `host` image. */
export type Entry =
  | { readonly kind: "folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "file"; readonly path: string; readonly content: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | { readonly kind: "copy"; readonly path: string; readonly source: string; readonly stamp: string };

/** Public configuration in /etc that programs under /usr need. No other file of /etc exists in a sandbox. */
const publicConfiguration: readonly string[] = [
  "alternatives",
  "bash.bashrc",
  "ca-certificates.conf",
  "debian_version",
  "ethertypes",
  "fonts",
  "inputrc",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "locale.alias",
  "localtime",
  "magic",
  "magic.mime",
  "mime.types",
  "os-release",
  "perl",
  "profile",
  "protocols",
  "python3",
  "rpc",
  "services",
  "ssl/certs",
  "ssl/openssl.cnf",
  "terminfo",
  "timezone",
];
const publicPatterns: readonly RegExp[] = [/^java-\d+-openjdk$/, /^python3\.\d+$/];

const written: Readonly<Record<string, string>> = {
  "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
  "/etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
  "/etc/nsswitch.conf":
    "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
  "/etc/hosts": "",
  "/etc/hostname": "",
  "/etc/resolv.conf": "",
};

const folders: Readonly<Record<string, number>> = {
  "/dev": 0o755,
  "/etc": 0o755,
  "/home": 0o755,
  "/mnt": 0o755,
  "/opt": 0o755,
  "/proc": 0o555,
  "/root": 0o700,
  "/run": 0o755,
  "/srv": 0o755,
  "/sys": 0o555,
  "/tmp": 0o1777,
  "/usr": 0o755,
  "/var": 0o755,
  "/var/cache": 0o755,
  "/var/lib": 0o755,
  "/var/log": 0o755,
  "/var/tmp": 0o1777,
};

/** A limit, in case one of the folders contains something other than configuration. */
const entryLimit = 20_000;

/** Lists the entries of the image's root folder, from the machine's current files. */
export async function planSkeleton(): Promise<Entry[]> {
  const entries: Entry[] = [
    ...Object.entries(folders).map(([path, mode]): Entry => ({ kind: "folder", path, mode })),
    ...Object.entries(written).map(([path, content]): Entry => ({ kind: "file", path, content })),
    { kind: "link", path: "/var/run", target: "/run" },
    { kind: "link", path: "/var/lock", target: "/run/lock" },
    { kind: "link", path: "/etc/mtab", target: "/proc/mounts" },
  ];
  for (const name of ["bin", "lib", "lib32", "lib64", "libx32", "sbin"]) {
    const found = await lstat(`/${name}`).catch(() => undefined);
    if (found?.isSymbolicLink()) entries.push({ kind: "link", path: `/${name}`, target: await readlink(`/${name}`) });
    else if (found?.isDirectory()) entries.push({ kind: "folder", path: `/${name}`, mode: 0o755 });
  }
  const matching = (await readdir("/etc")).filter((name) => publicPatterns.some((pattern) => pattern.test(name)));
  entries.push({ kind: "folder", path: "/etc/ssl", mode: 0o755 });
  for (const name of [...publicConfiguration, ...matching]) await collect(`/etc/${name}`, entries);
  return entries;
}

/** Adds a path and everything below it that every user of the machine may read. */
async function collect(path: string, into: Entry[]): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (into.length >= entryLimit)
    throw new NodeError("NodeSetup", `Cannot build the image "host": more than ${entryLimit} files, at "${path}"`);
  if (found.isSymbolicLink()) into.push({ kind: "link", path, target: await readlink(path) });
  else if ((found.mode & constants.S_IROTH) === 0) return;
  else if (found.isFile()) into.push({ kind: "copy", path, source: path, stamp: `${found.size} ${found.mtimeMs}` });
  else if (found.isDirectory()) {
    into.push({ kind: "folder", path, mode: 0o755 });
    for (const name of (await readdir(path)).toSorted()) await collect(join(path, name), into);
  }
}

/**
 * Writes the entries to a folder named after their digest and returns its path. A layer in use must never change, so
 * changed configuration gets another folder.
 */
export async function writeSkeleton(imagesDir: string, entries: readonly Entry[]): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 16);
  const final = join(imagesDir, `host-${digest}`);
  if ((await lstat(final).catch(() => undefined)) !== undefined) return final;
  const temporary = join(imagesDir, `.new-${digest}-${process.pid}`);
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true, mode: 0o755 });
  await chmod(temporary, 0o755);
  for (const entry of entries) await writeEntry(join(temporary, entry.path), entry);
  await rename(temporary, final).catch(async (error: unknown) => {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
    await rm(temporary, { recursive: true, force: true });
  });
  return final;
}

async function writeEntry(path: string, entry: Entry): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  switch (entry.kind) {
    case "folder":
      await mkdir(path, { recursive: true });
      return chmod(path, entry.mode);
    case "file":
      await writeFile(path, entry.content);
      return chmod(path, 0o644);
    case "link":
      return symlink(entry.target, path);
    case "copy":
      await copyFile(entry.source, path);
      return chmod(path, 0o644);
    default:
      return entry satisfies never;
  }
}

import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Payload } from "./payload.ts";

/** The link to the folder with the current files. Programs that watch volumes rely on Kubernetes' name for it. */
const currentLink = "..data";
/** `chown` leaves an id of -1 unchanged. */
const unchanged = -1;

/**
 * Writes files so that readers see either all old or all new ones, as the kubelet does: the files are in a new folder, the
 * paths that readers open are links through `..data`, and that link is replaced atomically. Does nothing if the files are the same.
 */
export async function writeAtomically(folder: string, payload: Payload, group: number | undefined): Promise<void> {
  const before = await readlink(join(folder, currentLink)).catch(() => undefined);
  if (before === undefined || !(await holds(join(folder, before), payload))) {
    const next = `..${new Date().toISOString().replaceAll(/[:.]/g, "_")}.${randomBytes(4).toString("hex")}`;
    await writeFiles(join(folder, next), payload, group);
    await rm(join(folder, "..data_tmp"), { force: true });
    await symlink(next, join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, currentLink));
  }
  await writeLinks(folder, payload);
}

async function writeFiles(folder: string, payload: Payload, group: number | undefined): Promise<void> {
  await mkdir(folder, { mode: 0o755 });
  await chmod(folder, 0o755);
  for (const [path, { content, mode, uid }] of payload) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, content, { mode: 0o600 });
    await chown(file, uid ?? unchanged, group ?? unchanged);
    // The group must be able to read the file.
    await chmod(file, group === undefined ? mode : mode | 0o440);
  }
}

/** Creates a link for each name at the top level, and removes old names and old folders. */
async function writeLinks(folder: string, payload: Payload): Promise<void> {
  const current = await readlink(join(folder, currentLink));
  const names = new Set([...payload.keys()].map((path) => path.split("/")[0] ?? path));
  for (const name of names) {
    const exists = await lstat(join(folder, name)).catch(() => undefined);
    if (exists === undefined) await symlink(join(currentLink, name), join(folder, name));
  }
  for (const name of await readdir(folder)) {
    if (name === currentLink || name === current || names.has(name)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function holds(folder: string, payload: Payload): Promise<boolean> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  if (files.filter((entry) => entry.isFile()).length !== payload.size) return false;
  for (const [path, { content }] of payload) {
    const found = await readFile(join(folder, path)).catch(() => undefined);
    if (found === undefined || !found.equals(content)) return false;
  }
  return true;
}

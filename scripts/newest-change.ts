import { type Dirent, readdirSync, statSync } from "node:fs";

/** Folders whose content is made from the other files. */
const madeFolders: ReadonlySet<string> = new Set(["node_modules", "dist", ".cache"]);

/**
 * When a file or folder under the given paths was last changed, in milliseconds since 1970. A folder changes when a file is added,
 * renamed or removed. Built files do not count.
 */
export function newestChange(paths: readonly string[]): number {
  return paths.reduce((newest, path) => Math.max(newest, changeOf(path)), 0);
}

function changeOf(path: string): number {
  const status = statSync(path);
  if (!status.isDirectory()) return status.mtimeMs;
  const entries = readdirSync(path, { withFileTypes: true }).filter(isSource);
  return Math.max(status.mtimeMs, newestChange(entries.map(({ name }) => `${path}/${name}`)));
}

const isSource = (entry: Dirent): boolean => !madeFolders.has(entry.name) && !entry.isSymbolicLink();

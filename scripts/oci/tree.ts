import { createHash } from "node:crypto";
import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** The paths of a folder, relative to it and sorted, with a text each that changes when the file changes. */
export type Tree = ReadonlyMap<string, string>;

/**
 * Lists a folder. `isLeftOut` gets the path of each file, link and folder; a folder that is left out is left out with its content.
 * Sockets and devices are left out too.
 */
export async function listTree(root: string, isLeftOut: (path: string) => boolean = () => false): Promise<Tree> {
  const found = new Map<string, string>();
  const visit = async (folder: string): Promise<void> => {
    for (const name of readdirSync(join(root, folder)).sort()) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (isLeftOut(path)) continue;
      const facts = lstatSync(join(root, path));
      if (!facts.isFile() && !facts.isDirectory() && !facts.isSymbolicLink()) continue;
      found.set(path, await describe(join(root, path), facts));
      if (facts.isDirectory()) await visit(path);
    }
  };
  await visit("");
  return found;
}

/** The time of a folder changes with every file in it, so it says nothing about the folder. */
async function describe(path: string, facts: Stats): Promise<string> {
  const owner = `${facts.mode.toString(8)} ${facts.uid}:${facts.gid}`;
  if (facts.isDirectory()) return owner;
  if (facts.isSymbolicLink()) return `${owner} ${readlinkSync(path)}`;
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return `${owner} ${Math.floor(facts.mtimeMs / 1000)} ${hash.digest("hex")}`;
}

/** The paths that `upper` adds or changes. Throws if it lacks a path of `lower`: layers made of them can only add. */
export function addedPaths(lower: Tree, upper: Tree): string[] {
  const removed = [...lower.keys()].filter((path) => !upper.has(path));
  if (removed.length > 0) {
    throw new Error(`Cannot make a layer: it would remove ${removed.slice(0, 5).join(", ")} of the layer below`);
  }
  return [...upper].filter(([path, text]) => lower.get(path) !== text).map(([path]) => path);
}

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type BuiltImage, buildImages } from "./build-images.ts";
import { imageNames, sourcesHash } from "./sources.ts";

/** Built images are kept outside the repository, so that each machine builds them once. */
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agent-sandbox", "images");
const keptMs = 30 * 24 * 3600 * 1000;

export interface CachedImage extends BuiltImage {
  readonly name: string;
  readonly archive: string;
  readonly builtAt: Date;
}

/** The images of these sources, in the order of `imageNames`. Undefined if they have not been built on this machine. */
export function cachedImages(): CachedImage[] | undefined {
  const folder = join(cache, sourcesHash());
  return existsSync(folder) ? readImages(folder) : undefined;
}

/** Builds the images and replaces those in the cache, also the ones that other sources made more than a month ago. */
export async function buildIntoCache(say: (line: string) => void): Promise<CachedImage[]> {
  const folder = join(cache, sourcesHash());
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  await buildImages(partial, say);
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
  for (const each of readdirSync(cache).map((name) => join(cache, name))) {
    if (Date.now() - statSync(each).mtimeMs > keptMs) rmSync(each, { recursive: true });
  }
  return readImages(folder);
}

function readImages(folder: string): CachedImage[] {
  return imageNames.map((name) => {
    const archive = join(folder, `${name}.tar`);
    const built = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as BuiltImage;
    return { ...built, name, archive, builtAt: statSync(archive).mtime };
  });
}

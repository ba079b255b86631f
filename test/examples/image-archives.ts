import { spawnSync } from "node:child_process";
import { cachedImages } from "../../scripts/images/cached-images.ts";
import { root } from "../../scripts/images/sources.ts";

/** Why the images cannot be built on this machine, or undefined. */
export function whyNoImages(): string | undefined {
  if (cachedImages() !== undefined) return undefined;
  const found = spawnSync("which", ["mmdebstrap"]).status === 0;
  return found ? undefined : "needs mmdebstrap on the PATH";
}

/** Builds the images unless this machine has them in its cache. Returns the paths of the archives. Safe in several processes. */
export function imageArchives(): string[] {
  if (cachedImages() === undefined) {
    const built = spawnSync("make", ["images"], { cwd: root, encoding: "utf8" });
    if (built.status !== 0) throw new Error(`Cannot build the images: ${built.stdout}${built.stderr}`);
  }
  return (cachedImages() ?? []).map(({ archive }) => archive);
}

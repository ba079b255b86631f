/**
 * `make images`: builds the images of `images/` from Debian packages and puts them into dist/images. Images that this machine has built
 * from the same sources are taken from its cache; `FRESH=1` builds them again, with the packages that Debian has now, and says what
 * changed.
 */
import { copyFileSync, linkSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildIntoCache, type CachedImage, cachedImages } from "./cached-images.ts";
import { changedPackages } from "./changed-packages.ts";
import { root } from "./sources.ts";

const started = Date.now();
const say = (line: string): void =>
  console.log(`images: ${String(Math.round((Date.now() - started) / 1000)).padStart(4)} s  ${line}`);
const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;

const before = cachedImages();
const images = before === undefined || process.env["FRESH"] === "1" ? await buildAgain(before) : before;
publish(images);
show(images);

async function buildAgain(old: readonly CachedImage[] | undefined): Promise<CachedImage[]> {
  const built = await buildIntoCache(say);
  for (const [index, { name, digest, packages }] of built.entries()) {
    const earlier = old?.[index];
    if (earlier === undefined) continue;
    const changes = changedPackages(earlier.packages, packages);
    if (earlier.digest === digest) say(`${name} has the same digest as before`);
    else if (changes.length > 0) say(`${name} has changed: ${changes.join(", ")}`);
    else {
      say(`${name} is not reproducible: the same packages gave other files`);
      process.exitCode = 1;
    }
  }
  return built;
}

function publish(built: readonly CachedImage[]): void {
  const folder = join(root, "dist/images");
  mkdirSync(folder, { recursive: true });
  for (const { name, archive, packages } of built) {
    const target = join(folder, `${name}.tar`);
    rmSync(target, { force: true });
    place(archive, target);
    writeFileSync(join(folder, `${name}.packages.txt`), `${packages.join("\n")}\n`);
  }
}

/** As a second name for the file in the cache, or as a copy on another file system. */
function place(archive: string, target: string): void {
  try {
    linkSync(archive, target);
  } catch {
    copyFileSync(archive, target);
  }
}

function show(built: readonly CachedImage[]): void {
  const [first] = built;
  say(`built ${first?.builtAt.toISOString().slice(0, 10)}; FRESH=1 takes the packages that Debian has now`);
  for (const { name, reference, digest, archive, unpackedBytes, packages } of built) {
    const sizes = `${mebibytes(statSync(archive).size)}, ${mebibytes(unpackedBytes)} unpacked`;
    console.log(`dist/images/${name}.tar  ${reference}  ${digest.slice(0, 19)}  ${sizes}, ${packages.length} packages`);
  }
  console.log("Load them into the box, as root:");
  for (const { name } of built) console.log(`  dist/agent-sandbox image load dist/images/${name}.tar`);
  console.log("or into each node of a cluster:");
  for (const { name } of built) console.log(`  ctr -n k8s.io images import dist/images/${name}.tar`);
}

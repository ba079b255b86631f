/**
 * `make operator-images`: builds the images of manager, router and sandboxd for x86_64 and arm64 into dist/images, and prints their sizes
 * and how long the manager takes to start. FRESH=1 takes the Debian packages that exist now.
 */
import { join, relative } from "node:path";
import { buildOperatorImages } from "./build-images.ts";
import { startTimes } from "./start-time.ts";

const root = join(import.meta.dirname, "../..");
const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

const archives = await buildOperatorImages(join(root, "dist/images"));
for (const { file, name, digest, images } of archives) {
  console.log(`${relative(root, file)}  ${name}  ${digest.slice(0, 19)}`);
  for (const { architecture, sizeBytes, unpackedBytes } of images) {
    console.log(`  ${architecture}: ${mebibytes(sizeBytes)}, ${mebibytes(unpackedBytes)} unpacked`);
  }
}
for (const [what, ms] of startTimes(archives)) console.log(`${what}: ${Math.round(ms)} ms`);
// Without --local, containerd keeps an image under its digest alone.
console.log("Load them into each node: ctr -n k8s.io images import --local <archive>");

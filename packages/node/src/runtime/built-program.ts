import { existsSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const suffix = `-linux-${process.arch === "arm64" ? "arm64" : "amd64"}`;

/** Relative to this file: the folder above the bundle, and `dist` when it runs from the sources. */
const folders: readonly string[] = ["..", "../../../../dist"];

/** The path of a runtime (`runsc` or `runc`) that `make build` has built, or undefined. */
export function builtProgram(name: string): string | undefined {
  return folders
    .map((folder) => fileURLToPath(new URL(`${folder}/${name}${suffix}`, import.meta.url)))
    .find((path) => existsSync(path));
}

/** The name of a program without the suffix of our builds: `dist/runc-linux-amd64` is `runc`. */
export function programName(path: string): string {
  return basename(path).replace(/-linux-(amd64|arm64)$/, "");
}

import { existsSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const suffix = `-linux-${process.arch === "arm64" ? "arm64" : "amd64"}`;

/** Beside the bundled program, or where `make build` puts it, seen from the sources. */
const folders: readonly string[] = ["..", "../../../../dist"];

/** The path of a runtime that the project has built (`runsc` or `runc`), or undefined when it is not built. */
export function builtProgram(name: string): string | undefined {
  return folders
    .map((folder) => fileURLToPath(new URL(`${folder}/${name}${suffix}`, import.meta.url)))
    .find((path) => existsSync(path));
}

/** The name of a program without the suffix of a build: `dist/runc-linux-amd64` is `runc`. */
export function programName(path: string): string {
  return basename(path).replace(/-linux-(amd64|arm64)$/, "");
}

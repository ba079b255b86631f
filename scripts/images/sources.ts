import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { arch } from "node:os";
import { join, resolve } from "node:path";
import type { ImageDefaults } from "../oci/archive.ts";

export const root: string = resolve(import.meta.dirname, "../..");

/** The version of Debian that the images contain. It is also their tag. */
export const suite = "bookworm";

/** In the order of their layers: an image comes after the one that it extends. */
export const imageNames = ["workspace", "code-interpreter"] as const;

export interface ImageSource {
  /** With registry and tag. No registry is reached for `localhost`, so nobody else can publish an image of this name. */
  readonly reference: string;
  readonly title: string;
  /** The image that it extends, if any. */
  readonly from?: string;
  readonly packages: readonly string[];
  readonly defaults: ImageDefaults;
  readonly folder: string;
}

export const architecture: string = arch() === "x64" ? "amd64" : arch();

interface ImageFile {
  readonly title: string;
  readonly from?: string;
  /** Default: those of the image that it extends. */
  readonly defaults?: ImageDefaults;
}

/** Reads `images/<name>`. */
export function readSource(name: string): ImageSource {
  const folder = join(root, "images", name);
  const { defaults, ...file } = JSON.parse(readFileSync(join(folder, "image.json"), "utf8")) as ImageFile;
  const text = readFileSync(join(folder, "packages.txt"), "utf8");
  return {
    ...file,
    reference: `localhost/${name}:${suite}`,
    packages: text.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    defaults: defaults ?? (file.from === undefined ? {} : readSource(file.from).defaults),
    folder,
  };
}

/**
 * Changes with everything in the repository that decides about the content of the images. It does not change with Debian's packages, nor
 * with the format of archives.
 */
export function sourcesHash(): string {
  const hash = createHash("sha256").update(`${suite} ${architecture}\n`);
  const programs = ["scripts/images/{build-images,sources,take-layer}.ts", "scripts/oci/{layer,tree}.ts"];
  for (const path of globSync(["images/*/**", ...programs], { cwd: root }).sort()) {
    if (statSync(join(root, path)).isFile()) hash.update(`${path}\n`).update(readFileSync(join(root, path)));
  }
  return hash.digest("hex").slice(0, 12);
}

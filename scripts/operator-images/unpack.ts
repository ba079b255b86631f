import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
}

interface Index {
  readonly manifests: readonly Descriptor[];
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface ImageConfig {
  readonly architecture: string;
  readonly config: {
    readonly User?: string;
    readonly Env?: readonly string[];
    readonly Entrypoint?: readonly string[];
    readonly Labels?: Readonly<Record<string, string>>;
  };
}

/** Unpacks one architecture of an archive into `<folder>/rootfs` and returns its configuration. */
export function unpackImage(archive: string, architecture: string, folder: string): ImageConfig {
  const layout = join(folder, "layout");
  const rootfs = join(folder, "rootfs");
  for (const path of [layout, rootfs]) mkdirSync(path, { recursive: true });
  execFileSync("tar", ["--extract", "--file", archive, "--directory", layout]);
  const blob = (digest: string): string => join(layout, "blobs", digest.replace(":", "/"));
  const read = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
  const [index] = (read(join(layout, "index.json")) as Index).manifests;
  const { manifests } = read(blob(index?.digest ?? "")) as Index;
  const wanted = manifests.find(({ platform }) => platform?.architecture === architecture);
  const manifest = read(blob(wanted?.digest ?? "")) as Manifest;
  for (const { digest } of manifest.layers) {
    execFileSync("tar", ["--extract", "--gzip", "--file", blob(digest), "--directory", rootfs]);
  }
  const config = read(blob(manifest.config.digest)) as ImageConfig;
  rmSync(layout, { recursive: true });
  return config;
}

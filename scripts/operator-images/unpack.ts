import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
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
  const read = <T>(path: string): T => JSON.parse(readFileSync(path, "utf8")) as T;
  const [index] = read<{ manifests: Descriptor[] }>(join(layout, "index.json")).manifests;
  const { manifests } = read<{ manifests: Descriptor[] }>(blob(index?.digest ?? ""));
  const wanted = manifests.find(({ platform }) => platform?.architecture === architecture);
  const manifest = read<{ config: Descriptor; layers: Descriptor[] }>(blob(wanted?.digest ?? ""));
  for (const { digest } of manifest.layers) {
    execFileSync("tar", ["--extract", "--gzip", "--file", blob(digest), "--directory", rootfs]);
  }
  const config = read<ImageConfig>(blob(manifest.config.digest));
  rmSync(layout, { recursive: true });
  return config;
}

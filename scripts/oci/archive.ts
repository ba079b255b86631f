import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Layer } from "./layer.ts";

/** What containers of the image start with, as in the configuration of an OCI image. */
export interface ImageDefaults {
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

export interface ImageContent {
  /** With registry and tag, as in `localhost/workspace:bookworm`. */
  readonly name: string;
  /** As OCI calls it: amd64 or arm64. */
  readonly architecture: string;
  /** Lowest first. They must be on the file system of the archive. */
  readonly layers: readonly Layer[];
  readonly defaults: ImageDefaults;
  /** In seconds since 1970. */
  readonly created: number;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const type = (name: string): string => `application/vnd.oci.image.${name}`;

/**
 * Writes an image as an OCI archive, which `agent-sandbox image load`, `ctr images import`, skopeo and `docker load` read. Returns the
 * digest of its manifest. The same content gives the same archive.
 */
export function writeArchive(image: ImageContent, file: string): string {
  const layout = mkdtempSync(join(dirname(file), "layout-"));
  try {
    const blobs = join(layout, "blobs/sha256");
    mkdirSync(blobs, { recursive: true });
    const put = (mediaType: string, value: object): Descriptor => {
      const text = JSON.stringify(value);
      const hex = createHash("sha256").update(text).digest("hex");
      writeFileSync(join(blobs, hex), text);
      return { mediaType, digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
    };
    for (const layer of image.layers) linkSync(layer.file, join(blobs, layer.digest.slice("sha256:".length)));
    const manifest = put(type("manifest.v1+json"), {
      schemaVersion: 2,
      mediaType: type("manifest.v1+json"),
      config: put(type("config.v1+json"), configOf(image)),
      layers: image.layers.map(({ digest, sizeBytes }) => ({
        mediaType: type("layer.v1.tar+gzip"),
        digest,
        size: sizeBytes,
      })),
    });
    const annotations = {
      "io.containerd.image.name": image.name,
      "org.opencontainers.image.ref.name": image.name,
    };
    const index = { schemaVersion: 2, mediaType: type("index.v1+json"), manifests: [{ ...manifest, annotations }] };
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    writeFileSync(join(layout, "index.json"), JSON.stringify(index));
    const fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=u=rwX,go=rX"];
    const output = ["--create", "--format=ustar", "--file", file, "--hard-dereference"];
    const input = ["--directory", layout, "oci-layout", "index.json", "blobs"];
    execFileSync("tar", [...output, ...fixed, ...input]);
    return manifest.digest;
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

function configOf({ architecture, layers, defaults, created }: ImageContent): object {
  return {
    created: timeOf(created),
    architecture,
    os: "linux",
    config: defaults,
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created: timeOf(created) })),
  };
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString();

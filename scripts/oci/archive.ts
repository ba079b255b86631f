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
  return writeLayout([image], file, ([manifest]) => {
    const { platform: _, ...descriptor } = manifest as PlatformDescriptor;
    return descriptor;
  });
}

/** The same for an image that is built for several architectures. Returns the digest of its index. */
export function writeMultiArchive(images: readonly ImageContent[], file: string): string {
  return writeLayout(images, file, (manifests, put) =>
    put(type("index.v1+json"), { schemaVersion: 2, mediaType: type("index.v1+json"), manifests }),
  );
}

interface PlatformDescriptor extends Descriptor {
  readonly platform: { readonly architecture: string; readonly os: "linux" };
}
type Put = (mediaType: string, value: object) => Descriptor;

function writeLayout(
  images: readonly ImageContent[],
  file: string,
  topOf: (manifests: readonly PlatformDescriptor[], put: Put) => Descriptor,
): string {
  const layout = mkdtempSync(join(dirname(file), "layout-"));
  try {
    const blobs = join(layout, "blobs/sha256");
    mkdirSync(blobs, { recursive: true });
    const put: Put = (mediaType, value) => {
      const text = JSON.stringify(value);
      const hex = createHash("sha256").update(text).digest("hex");
      writeFileSync(join(blobs, hex), text);
      return { mediaType, digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
    };
    const layers = new Map(images.flatMap((image) => image.layers.map((layer) => [layer.digest, layer.file])));
    for (const [digest, path] of layers) linkSync(path, join(blobs, digest.slice("sha256:".length)));
    const manifests = images.map((image) => ({
      ...put(type("manifest.v1+json"), manifestOf(image, put)),
      platform: { architecture: image.architecture, os: "linux" } as const,
    }));
    const top = topOf(manifests, put);
    const [{ name } = { name: "" }] = images;
    const annotations = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name };
    const index = { schemaVersion: 2, mediaType: type("index.v1+json"), manifests: [{ ...top, annotations }] };
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    writeFileSync(join(layout, "index.json"), JSON.stringify(index));
    const fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=u=rwX,go=rX"];
    const output = ["--create", "--format=ustar", "--file", file, "--hard-dereference"];
    const input = ["--directory", layout, "oci-layout", "index.json", "blobs"];
    execFileSync("tar", [...output, ...fixed, ...input]);
    return top.digest;
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

function manifestOf(image: ImageContent, put: Put): object {
  return {
    schemaVersion: 2,
    mediaType: type("manifest.v1+json"),
    config: put(type("config.v1+json"), configOf(image)),
    layers: image.layers.map(({ digest, sizeBytes }) => ({
      mediaType: type("layer.v1.tar+gzip"),
      digest,
      size: sizeBytes,
    })),
  };
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

import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { type ImageIndex, type StoredImage, withImage } from "./image-index.ts";
import type { Layers } from "./layers.ts";
import { hexOf, type ImageDescription, type Manifest, parseImageDescription, parseManifest } from "./manifest.ts";
import { skopeo } from "./skopeo.ts";
import { UnpackBudget, type UnpackLimits } from "./unpack-layer.ts";

/** The parts of a store. */
export interface StoreParts {
  readonly layout: Layout;
  readonly index: ImageIndex;
  readonly layers: Layers;
  readonly limits: UnpackLimits;
  readonly registriesFile?: string | undefined;
  readonly now: () => number;
}

export interface ImportRequest {
  /** Where from, in skopeo's words. */
  readonly source: string;
  readonly sourceArgs: readonly string[];
  readonly names: readonly string[];
  readonly digests: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Manifests and configurations are read into memory. */
const documentLimit = 4 * 1024 * 1024;
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** A folder for the time of one import, which the next start removes if this process cannot. */
export async function openStaging({ layout }: Pick<StoreParts, "layout">): Promise<AsyncDisposable & { path: string }> {
  const path = join(layout.imagesDir, "staging", `${process.pid}-${randomBytes(4).toString("hex")}`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Copies an image into the store: blobs first, which stay when the rest is interrupted and are not fetched again, then
 * its layers unpacked, then its entry in the index. Nothing is listed that is not complete and verified.
 */
export async function importImage(parts: StoreParts, request: ImportRequest): Promise<StoredImage> {
  await using staging = await openStaging(parts);
  const layoutFolder = join(staging.path, "layout");
  const copy = ["copy", "--quiet", "--dest-oci-accept-uncompressed-layers", ...request.sourceArgs];
  await skopeo([...copy, `--dest-shared-blob-dir=${blobsFolder(parts)}`, request.source, `oci:${layoutFolder}:image`], {
    fileBytes: parts.limits.imageBytes,
    temporary: staging.path,
    registriesFile: parts.registriesFile,
    signal: request.signal,
  });
  const manifest = await readManifest(parts, layoutFolder);
  const text = await readDocument(parts, manifest.config.digest);
  const description = parseImageDescription(text);
  checkArchitecture(description);
  const sizeBytes = await unpackAll(parts, manifest, description);
  const image: StoredImage = {
    id: `sha256:${manifest.config.digest}`,
    names: request.names,
    digests: request.digests,
    description,
    sizeBytes,
    createdAt: parts.now(),
  };
  return record(parts, image);
}

export function blobsFolder({ layout }: Pick<StoreParts, "layout">): string {
  return join(layout.imagesDir, "blobs");
}

export function blobPath(parts: Pick<StoreParts, "layout">, hex: string): string {
  return join(blobsFolder(parts), "sha256", hex);
}

async function readManifest(parts: StoreParts, layoutFolder: string): Promise<Manifest> {
  const listed = JSON.parse(await readFile(join(layoutFolder, "index.json"), "utf8")) as {
    manifests?: readonly { digest?: string }[];
  };
  return parseManifest(await readDocument(parts, hexOf(listed.manifests?.[0]?.digest ?? "")), parts.limits);
}

/** What has the wrong digest is thrown away, so that it is fetched again. */
async function readDocument(parts: StoreParts, hex: string): Promise<string> {
  const path = blobPath(parts, hex);
  const { size } = await stat(path);
  const content = size > documentLimit ? undefined : await readFile(path);
  if (content === undefined || createHash("sha256").update(content).digest("hex") !== hex) {
    await rm(path, { force: true });
    throw new NodeError(
      "ErrImagePull",
      `Cannot use blob sha256:${hex}: its content has another digest, or is too long`,
    );
  }
  return content.toString("utf8");
}

function checkArchitecture({ architecture }: ImageDescription): void {
  const own = architectures[arch()] ?? arch();
  if (architecture !== "" && architecture !== own) {
    throw new NodeError(
      "ErrImagePull",
      `Cannot use the image: it is made for ${architecture}, and this machine is ${own}`,
    );
  }
}

async function unpackAll(parts: StoreParts, manifest: Manifest, { diffIds }: ImageDescription): Promise<number> {
  if (diffIds.length !== manifest.layers.length) {
    const message = `Cannot use the image: its manifest has ${manifest.layers.length} layers, its configuration ${diffIds.length}`;
    throw new NodeError("ErrImagePull", message);
  }
  const budget = new UnpackBudget(parts.limits);
  let total = 0;
  for (const [index, { digest }] of manifest.layers.entries()) {
    const path = blobPath(parts, digest);
    try {
      total += await parts.layers.add(diffIds[index] ?? "", { path, digest }, budget);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    // skopeo only looks whether it is there; what it held is unpacked now, and would take its room twice.
    await truncate(path).catch(() => undefined);
  }
  return total;
}

async function record(parts: StoreParts, image: StoredImage): Promise<StoredImage> {
  return parts.index.change(async (images) => {
    const missing = await Promise.all(image.description.diffIds.map(async (id) => !(await parts.layers.exists(id))));
    if (missing.includes(true)) {
      throw new NodeError("ErrImagePull", "Cannot use the image: one of its layers was removed while it was added");
    }
    const next = withImage(images, image);
    return { images: next, result: next.find(({ id }) => id === image.id) ?? image };
  });
}

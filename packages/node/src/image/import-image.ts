import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import type { FairLimiter } from "../system/fair-limiter.ts";
import type { AccessKey } from "./access.ts";
import type { RegistrySource } from "./current-registries.ts";
import { DamagedBlobError, hasDigest } from "./damaged-blob.ts";
import { checkRoom, type DiskReserve, withinRoom } from "./disk-room.ts";
import { type ImageIndex, type StoredImage, withImage } from "./image-index.ts";
import { type ReportProgress, watchFetch } from "./import-progress.ts";
import type { Layers } from "./layers.ts";
import { hexOf, type ImageDescription, type Manifest, parseImageDescription, parseManifest } from "./manifest.ts";
import type { PullNetwork } from "./pull-network.ts";
import type { SessionLimits } from "./pull-session.ts";
import { type Confinement, skopeo } from "./skopeo.ts";
import { UnpackBudget, type UnpackLimits } from "./unpack-layer.ts";

/** The parts of the image store that its functions share. */
export interface StoreParts {
  readonly layout: Layout;
  readonly index: ImageIndex;
  readonly layers: Layers;
  readonly limits: UnpackLimits;
  readonly registries: RegistrySource;
  readonly network: PullNetwork | undefined;
  /** Paths of the control groups that skopeo runs in. */
  readonly cgroups: readonly string[];
  readonly reserve: DiskReserve;
  readonly pace: Pick<SessionLimits, "spanMs" | "leastBytes">;
  readonly unpacking: FairLimiter;
  readonly now: () => number;
}

export interface ImportRequest {
  /** The source image in skopeo's syntax, such as `docker://…`. */
  readonly source: string;
  readonly sourceArgs: readonly string[];
  readonly names: readonly string[];
  readonly digests: readonly string[];
  /**
   * Who may use the image. Blobs that were fetched with another access key are not reused: the source has to deliver every
   * layer again, which proves that it may be read.
   */
  readonly access: AccessKey;
  readonly namespace?: string | undefined;
  readonly confinement?: Confinement | undefined;
  /** registries.conf for skopeo. */
  readonly registriesFile?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** Manifests and configurations are read into memory. */
const documentLimit = 4 * 1024 * 1024;
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Creates a temporary folder for one import. `removeLeftovers` removes those of processes that crashed. */
export async function openStaging({ layout }: Pick<StoreParts, "layout">): Promise<AsyncDisposable & { path: string }> {
  const path = join(layout.imagesDir, "staging", `${process.pid}-${randomBytes(4).toString("hex")}`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Copies an image into the store. It fetches the blobs, which are kept if the import is interrupted, unpacks the layers,
 * and then adds the entry to the index. The index contains only images that are complete and verified.
 */
export async function importImage(parts: StoreParts, request: ImportRequest): Promise<StoredImage> {
  await using staging = await openStaging(parts);
  const layoutFolder = join(staging.path, "layout");
  const blobs = blobsFolder(parts, request.access);
  const copy = ["copy", "--quiet", "--dest-oci-accept-uncompressed-layers", ...request.sourceArgs];
  const args = [...copy, `--dest-shared-blob-dir=${blobs}`, request.source, `oci:${layoutFolder}:image`];
  const watch = request.onProgress && (await watchFetch([staging.path, blobs], request.onProgress));
  using _watch = watch;
  await withinRoom(staging.path, parts.reserve, (full) =>
    skopeo(args, {
      fileBytes: parts.limits.imageBytes,
      temporary: staging.path,
      registriesFile: request.registriesFile,
      confinement: { cgroups: parts.cgroups, ...request.confinement },
      signal: AbortSignal.any([full, ...(request.signal ? [request.signal] : [])]),
    }),
  );
  watch?.[Symbol.dispose]();
  const manifest = await readManifest(parts, blobs, layoutFolder);
  const text = await readDocument(blobs, manifest.config.digest);
  const description = parseImageDescription(text);
  checkArchitecture(description);
  const unpack = (): Promise<number> =>
    unpackAll(parts, blobs, { manifest, description, onProgress: request.onProgress });
  const sizeBytes = await parts.unpacking.run(request.namespace ?? "", unpack, request.signal);
  const image: StoredImage = {
    id: `sha256:${manifest.config.digest}`,
    names: request.names,
    digests: request.digests,
    access: [request.access],
    description,
    sizeBytes,
    createdAt: parts.now(),
  };
  return await record(parts, image);
}

/** Each access key has its own folder of blobs, so that nobody gets a blob that the registry would not give them. */
export function blobsFolder({ layout }: Pick<StoreParts, "layout">, access: AccessKey): string {
  return join(layout.imagesDir, "blobs", access);
}

function blobPath(blobs: string, hex: string): string {
  return join(blobs, "sha256", hex);
}

async function readManifest(parts: StoreParts, blobs: string, layoutFolder: string): Promise<Manifest> {
  const listed = JSON.parse(await readFile(join(layoutFolder, "index.json"), "utf8")) as {
    manifests?: readonly { digest?: string }[];
  };
  return parseManifest(await readDocument(blobs, hexOf(listed.manifests?.[0]?.digest ?? "")), parts.limits);
}

/** Reads and verifies a blob. Removes it if the digest is wrong, so that it is fetched again. */
async function readDocument(blobs: string, hex: string): Promise<string> {
  const path = blobPath(blobs, hex);
  const { size } = await stat(path);
  const content = size > documentLimit ? undefined : await readFile(path);
  if (content !== undefined && createHash("sha256").update(content).digest("hex") === hex)
    return content.toString("utf8");
  await rm(path, { force: true });
  if (content !== undefined) throw new DamagedBlobError(`Cannot use blob sha256:${hex}: its digest does not match`);
  throw new NodeError("ErrImagePull", `Cannot use blob sha256:${hex}: it is larger than ${documentLimit} bytes`);
}

function checkArchitecture({ architecture }: ImageDescription): void {
  const own = architectures[arch()] ?? arch();
  if (architecture !== "" && architecture !== own) {
    throw new NodeError(
      "ErrImagePull",
      `Cannot use the image: its architecture is ${architecture}, and this machine is ${own}`,
    );
  }
}

interface Unpacking {
  readonly manifest: Manifest;
  readonly description: ImageDescription;
  readonly onProgress: ReportProgress | undefined;
}

async function unpackAll(
  parts: StoreParts,
  blobs: string,
  { manifest, description: { diffIds }, onProgress }: Unpacking,
): Promise<number> {
  if (diffIds.length !== manifest.layers.length) {
    const message = `Cannot use the image: its manifest has ${manifest.layers.length} layers and its configuration ${diffIds.length}`;
    throw new NodeError("ErrImagePull", message);
  }
  const budget = new UnpackBudget(parts.limits, () => checkRoom(parts.layout.imagesDir, parts.reserve));
  let total = 0;
  for (const [index, { digest }] of manifest.layers.entries()) {
    const path = blobPath(blobs, digest);
    onProgress?.({ stage: "unpacking", layer: index + 1, layers: manifest.layers.length });
    try {
      total += await parts.layers.add(diffIds[index] ?? "", { path, digest }, budget);
    } catch (error) {
      const isDamaged = !(await hasDigest(path, digest).catch(() => false));
      await rm(path, { force: true });
      throw isDamaged ? new DamagedBlobError(error) : error;
    }
    // An empty file is enough for skopeo not to fetch the blob again, and the unpacked layer is already on the disk.
    await truncate(path).catch(() => undefined);
  }
  return total;
}

async function record(parts: StoreParts, image: StoredImage): Promise<StoredImage> {
  return parts.index.change(async (images) => {
    const missing = await Promise.all(image.description.diffIds.map(async (id) => !(await parts.layers.exists(id))));
    if (missing.includes(true)) {
      throw new NodeError("ErrImagePull", "Cannot use the image: one of its layers was removed during the import");
    }
    const next = withImage(images, image);
    return { images: next, result: next.find(({ id }) => id === image.id) ?? image };
  });
}

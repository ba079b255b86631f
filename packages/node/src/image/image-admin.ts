import { rm, rmdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import { namesIn } from "../system/folders.ts";
import { chooseGarbage, type GarbageLimits } from "./garbage.ts";
import type { StoredImage } from "./image-index.ts";
import type { ListedImage, Removed } from "./image-store.ts";
import type { StoreParts } from "./import-image.ts";
import { imagesInUse } from "./in-use.ts";
import { canonicalName, parseReference } from "./reference.ts";

export async function listImages(parts: StoreParts): Promise<ListedImage[]> {
  const images = await parts.index.list();
  const used = await imagesInUse(parts.layout);
  return Promise.all(
    images.map(async (image) => ({
      ...image,
      inUse: used.has(image.id),
      lastUsedAt: await parts.layers.lastUsed(image.description.diffIds.at(-1) ?? ""),
    })),
  );
}

/** Finds an image by one of its names, its id or at least the first 12 digits of the id. */
export function findImage(images: readonly StoredImage[], nameOrId: string): StoredImage | undefined {
  const parsed = parseReference(nameOrId);
  const name = "reference" in parsed ? canonicalName(parsed.reference) : undefined;
  const named = images.find(({ names, digests }) => name !== undefined && [...names, ...digests].includes(name));
  if (named !== undefined) return named;
  const digits = /^(?:sha256:)?([0-9a-f]{12,64})$/.exec(nameOrId)?.[1];
  const found = digits === undefined ? [] : images.filter(({ id }) => id.startsWith(`sha256:${digits}`));
  return found.length === 1 ? found[0] : undefined;
}

/** Removes a tag. The image is deleted with its last tag, or by its id. Throws for an image in use. */
export function removeImage(parts: StoreParts, nameOrId: string): Promise<Removed> {
  return parts.index.change<Removed>(async (images) => {
    const image = findImage(images, nameOrId);
    if (image === undefined)
      throw new NodeError(
        "NodeSetup",
        `Cannot remove image "${nameOrId}": not found; list images with: agent-sandbox image ls`,
      );
    const parsed = parseReference(nameOrId);
    const name = "reference" in parsed ? canonicalName(parsed.reference) : "";
    const left = image.names.filter((one) => one !== name);
    if (image.names.includes(name) && left.length > 0) {
      const renamed = images.map((one) => (one.id === image.id ? { ...one, names: left } : one));
      return { images: renamed, result: { untagged: [name] } };
    }
    if ((await imagesInUse(parts.layout)).has(image.id)) {
      throw new NodeError("NodeSetup", `Cannot remove image "${nameOrId}": a Pod uses it`);
    }
    const rest = images.filter(({ id }) => id !== image.id);
    await clean(parts, rest);
    return { images: rest, result: { untagged: image.names, removed: image.id } };
  });
}

/** Removes unused images: those without a name, or all. */
export function pruneImages(parts: StoreParts, which: "unnamed" | "unused"): Promise<StoredImage[]> {
  return drop(parts, async (images) => {
    const used = await imagesInUse(parts.layout);
    return images.filter(({ id, names }) => !used.has(id) && (which === "unused" || names.length === 0));
  });
}

/** Removes unused images until the limits are met. */
export function collectGarbage(parts: StoreParts, limits: GarbageLimits): Promise<StoredImage[]> {
  return drop(parts, async (images) => {
    const disk = await statfs(parts.layout.imagesDir);
    const use = { totalBytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize };
    const chosen = new Set(chooseGarbage(await listImages(parts), use, limits, parts.now()));
    return images.filter(({ id }) => chosen.has(id));
  });
}

function drop(
  parts: StoreParts,
  choose: (images: readonly StoredImage[]) => Promise<StoredImage[]>,
): Promise<StoredImage[]> {
  return parts.index.change(async (images) => {
    const gone = await choose(images);
    const rest = images.filter((image) => !gone.includes(image));
    await clean(parts, rest);
    return { ...(gone.length > 0 && { images: rest }), result: gone };
  });
}

/** Blobs of an interrupted pull are kept for a day, so that a later pull need not fetch them again. */
const blobAgeMs = 24 * 3_600_000;

/** Removes layers and blobs of images that are no longer listed. */
async function clean(parts: StoreParts, images: readonly StoredImage[]): Promise<void> {
  const layers = new Set(images.flatMap(({ description }) => description.diffIds));
  await parts.layers.removeAllBut(layers);
  const needed = new Set([...(await parts.layers.blobs()), ...images.map(({ id }) => id.slice("sha256:".length))]);
  const all = join(parts.layout.imagesDir, "blobs");
  for (const access of await namesIn(all)) await cleanBlobs(parts, join(all, access), needed);
}

async function cleanBlobs(parts: StoreParts, blobs: string, needed: ReadonlySet<string>): Promise<void> {
  const folder = join(blobs, "sha256");
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    const isPlaceholder = found?.size === 0;
    if (found === undefined || needed.has(name)) continue;
    if (isPlaceholder || parts.now() - found.mtimeMs > blobAgeMs) await rm(path, { force: true });
  }
  // rmdir fails if a folder is not empty.
  for (const one of [folder, blobs]) await rmdir(one).catch(() => undefined);
}

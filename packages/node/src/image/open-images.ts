import { rm } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { type GarbageLimits, garbageLimits } from "./garbage.ts";
import { collectGarbage, findImage, listImages, pruneImages, removeImage } from "./image-admin.ts";
import { ImageIndex, type StoredImage } from "./image-index.ts";
import type { Image, ImageAdmin, ImageStore, ResolveOptions } from "./image-store.ts";
import type { StoreParts } from "./import-image.ts";
import { Layers } from "./layers.ts";
import { loadArchive } from "./load-archive.ts";
import { pullImage } from "./pull-image.ts";
import { canonicalName, parseReference, type Reference } from "./reference.ts";
import { type RegistrySettings, writeRegistries } from "./registries.ts";
import { configOf } from "./stored-config.ts";
import type { UnpackLimits } from "./unpack-layer.ts";

export interface ImageOptions {
  readonly layout: Layout;
  /** The images that need no registry, by name. */
  readonly builtIn?: Readonly<Record<string, () => Promise<Image>>>;
  readonly registries?: readonly RegistrySettings[] | undefined;
  readonly limits?: Partial<UnpackLimits & GarbageLimits> | undefined;
  readonly now?: () => number;
}

/** 32 GiB and two million files: several times what the largest images in use have. */
const unpackLimits: UnpackLimits = { imageBytes: 32 * 2 ** 30, imageEntries: 2_000_000 };

/** Pulls at the same time; more would only share the same line and disk. */
const mostPulls = 3;

export interface Images extends ImageStore, ImageAdmin {
  /** Removes images as far as the limits demand, and what interrupted work has left. */
  collect(): Promise<readonly StoredImage[]>;
}

/** The images of a data folder. Several processes may work on them at the same time. */
export async function openImages(options: ImageOptions): Promise<Images> {
  const { layout, builtIn = {}, now = Date.now } = options;
  const limits = { ...unpackLimits, ...garbageLimits, ...options.limits };
  const registriesFile = await writeRegistries(layout.imagesDir, options.registries ?? []);
  const parts: StoreParts = {
    layout,
    index: new ImageIndex(layout),
    layers: new Layers(layout),
    limits,
    registriesFile,
    now,
  };
  const pulls = new SharedPulls(parts);
  return {
    resolve: async (name, request = {}) => {
      const open = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
      if (open !== undefined) return open();
      return toImage(parts, await findOrPull(parts, pulls, referenceOf(name), request));
    },
    byId: async (id) => {
      const found = (await parts.index.list()).find((image) => image.id === id);
      return found && toImage(parts, found);
    },
    list: () => listImages(parts),
    pull: (name, request = {}) => pulls.pull(referenceOf(name), request),
    load: (file, name) => loadArchive(parts, file, name),
    remove: (nameOrId) => removeImage(parts, nameOrId),
    prune: (which) => pruneImages(parts, which),
    collect: async () => {
      await removeLeftovers(parts);
      return collectGarbage(parts, limits);
    },
  };
}

async function findOrPull(
  { index }: StoreParts,
  pulls: SharedPulls,
  reference: Reference,
  { policy = "IfNotPresent", logins, signal }: ResolveOptions,
): Promise<StoredImage> {
  const name = canonicalName(reference);
  const here = findImage(await index.list(), name);
  if (here !== undefined && policy !== "Always") return here;
  if (policy !== "Never") return pulls.pull(reference, { logins, signal });
  throw new NodeError("ErrImageNeverPull", `Cannot use image "${name}": it is not here, and its policy is Never`);
}

async function toImage({ layers, now }: StoreParts, { id, description }: StoredImage): Promise<Image> {
  const { diffIds } = description;
  const top = diffIds.at(-1);
  if (top !== undefined) await layers.touch(top, now());
  // An image lists its layers from the lowest, overlayfs wants the uppermost first.
  const paths = await Promise.all(diffIds.toReversed().map((diffId) => layers.shortPathOf(diffId)));
  return { id, layers: paths, config: configOf(description) };
}

function referenceOf(name: string): Reference {
  const parsed = parseReference(name);
  if ("error" in parsed) throw new NodeError("InvalidImageName", parsed.error);
  return parsed.reference;
}

/** One pull for all who want the same image with the same logins, and not too many at a time. */
class SharedPulls {
  readonly #parts: StoreParts;
  readonly #running = new Map<string, Promise<StoredImage>>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async pull(reference: Reference, request: Pick<ResolveOptions, "logins" | "signal">): Promise<StoredImage> {
    const key = JSON.stringify([canonicalName(reference), request.logins ?? {}]);
    const running = this.#running.get(key);
    // Somebody else's pull may be given up; then it is our turn.
    if (running !== undefined) return running.catch(() => this.pull(reference, request));
    const pull = this.#inTurn(() => pullImage(this.#parts, reference, request));
    this.#running.set(key, pull);
    try {
      return await pull;
    } finally {
      this.#running.delete(key);
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy >= mostPulls) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#busy++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy--;
      else next();
    }
  }
}

/** What processes that are gone left half done. */
async function removeLeftovers({ layout, layers }: StoreParts): Promise<void> {
  await layers.removeUnfinished();
  const staging = join(layout.imagesDir, "staging");
  for (const name of await namesIn(staging)) {
    const pid = Number.parseInt(name, 10);
    if (pid === process.pid || (await namesIn(`/proc/${pid}`)).length > 0) continue;
    await rm(join(staging, name), { recursive: true, force: true });
  }
}

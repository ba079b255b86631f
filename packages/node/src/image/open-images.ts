import { rm } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { FairLimiter } from "../system/fair-limiter.ts";
import { namesIn } from "../system/folders.ts";
import { accessKey, anyone, loginsFor, mayUse } from "./access.ts";
import type { DiskReserve } from "./disk-room.ts";
import { type GarbageLimits, garbageLimits } from "./garbage.ts";
import { collectGarbage, findImage, listImages, pruneImages, removeImage } from "./image-admin.ts";
import { ImageIndex, type StoredImage } from "./image-index.ts";
import type { Image, ImageAdmin, ImageStore, ResolveOptions } from "./image-store.ts";
import type { StoreParts } from "./import-image.ts";
import { Layers } from "./layers.ts";
import { loadArchive } from "./load-archive.ts";
import { pullImage } from "./pull-image.ts";
import type { PullNetwork } from "./pull-network.ts";
import type { SessionLimits } from "./pull-session.ts";
import { canonicalName, parseReference, type Reference } from "./reference.ts";
import { type RegistrySettings, writeRegistries } from "./registries.ts";
import { SharedPulls } from "./shared-pulls.ts";
import { configOf } from "./stored-config.ts";
import type { UnpackLimits } from "./unpack-layer.ts";

export interface ImageOptions {
  readonly layout: Layout;
  /** The images that need no registry, by name. */
  readonly builtIn?: Readonly<Record<string, () => Promise<Image>>>;
  readonly registries?: readonly RegistrySettings[] | undefined;
  readonly limits?: Partial<UnpackLimits & GarbageLimits> | undefined;
  /** Keeps pulls for Pods apart from the machine's network. Without it they use that, as commands of the operator do. */
  readonly network?: PullNetwork | undefined;
  /** Folders of control groups that programs are counted for. */
  readonly cgroups?: readonly string[] | undefined;
  /** What has to stay free on the disk. Default: nothing. */
  readonly reserve?: DiskReserve | undefined;
  /** How slow a registry may be. Default: 1 MiB a minute. */
  readonly pace?: Pick<SessionLimits, "spanMs" | "leastBytes"> | undefined;
  readonly now?: () => number;
}

/** 32 GiB and two million files: several times what the largest images in use have. */
const unpackLimits: UnpackLimits = { imageBytes: 32 * 2 ** 30, imageEntries: 2_000_000 };

/** Images unpacked at the same time, of all namespaces and of one. */
const unpacking = { total: 2, perKey: 1 };
/** 1 MiB a minute: a line a hundred times slower than usual. */
const pace = { spanMs: 60_000, leastBytes: 2 ** 20 };

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
    registries: options.registries ?? [],
    network: options.network,
    cgroups: options.cgroups ?? [],
    reserve: options.reserve ?? { diskFreeBytes: 0, inodesFree: 0 },
    pace: options.pace ?? pace,
    unpacking: new FairLimiter(unpacking),
    now,
  };
  const pulls = new SharedPulls((reference, request) => pullImage(parts, reference, request));
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
    // What the operator fetches is for everybody.
    pull: (name, request = {}) => pulls.pull(referenceOf(name), { ...request, access: anyone }),
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
  { index, registries }: StoreParts,
  pulls: SharedPulls,
  reference: Reference,
  { policy = "IfNotPresent", logins = {}, namespace, signal }: ResolveOptions,
): Promise<StoredImage> {
  const name = canonicalName(reference);
  const own = loginsFor(reference, logins, registries);
  const here = findImage(await index.list(), name);
  const isUsable = here !== undefined && mayUse(here, accessKey(own));
  if (isUsable && policy !== "Always") return here;
  // Pulled by somebody with other logins: the registry decides about these, and fetches nothing when the image is the same.
  if (policy !== "Never") return pulls.pull(reference, { logins: own, namespace, signal });
  const why =
    here === undefined ? "it is not here" : "it is here, but was pulled with a login that this Pod does not have";
  throw new NodeError("ErrImageNeverPull", `Cannot use image "${name}": ${why}, and its policy is Never`);
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

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { FairLimiter } from "../system/fair-limiter.ts";
import { namesIn } from "../system/folders.ts";
import { accessKey, anyone, loginsFor, mayUse } from "./access.ts";
import { RegistrySource } from "./current-registries.ts";
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
import type { RegistrySettings } from "./registries.ts";
import { SharedPulls } from "./shared-pulls.ts";
import { configOf } from "./stored-config.ts";
import type { UnpackLimits } from "./unpack-layer.ts";

export interface ImageOptions {
  readonly layout: Layout;
  /** Built-in images by name. */
  readonly builtIn?: Readonly<Record<string, () => Promise<Image>>>;
  readonly registries?: readonly RegistrySettings[] | undefined;
  /** Reads the registries before each pull. Default: `registries`. */
  readonly readRegistries?: (() => Promise<readonly RegistrySettings[]>) | undefined;
  readonly limits?: Partial<UnpackLimits & GarbageLimits> | undefined;
  /** Isolates pulls for Pods from the machine's network. Without it, as in CLI commands, pulls use the machine's network. */
  readonly network?: PullNetwork | undefined;
  /** Paths of the control groups that skopeo runs in. */
  readonly cgroups?: readonly string[] | undefined;
  /** What must stay free on the disk. Default: nothing. */
  readonly reserve?: DiskReserve | undefined;
  /** The minimum rate of a registry. Default: 1 MiB a minute. */
  readonly pace?: Pick<SessionLimits, "spanMs" | "leastBytes"> | undefined;
  readonly now?: () => number;
}

/** 32 GiB and two million files, several times the size of the largest common images. */
const unpackLimits: UnpackLimits = { imageBytes: 32 * 2 ** 30, imageEntries: 2_000_000 };

/** Images unpacked at the same time, for all namespaces together and for one. */
const unpacking = { total: 2, perKey: 1 };
/** 1 MiB a minute, about a hundredth of a usual rate. */
const pace = { spanMs: 60_000, leastBytes: 2 ** 20 };

export interface Images extends ImageStore, ImageAdmin {
  /** Removes unused images until the limits are met, and files that crashed processes left. */
  collect(): Promise<readonly StoredImage[]>;
}

/** Opens the image store of a data folder. Several processes may use it at the same time. */
export async function openImages(options: ImageOptions): Promise<Images> {
  const { layout, builtIn = {}, now = Date.now } = options;
  const limits = { ...unpackLimits, ...garbageLimits, ...options.limits };
  const { readRegistries = async () => options.registries ?? [] } = options;
  const registries = new RegistrySource(layout.imagesDir, readRegistries);
  // Report invalid settings now and not at the first pull.
  await registries.current();
  const parts: StoreParts = {
    layout,
    index: new ImageIndex(layout),
    layers: new Layers(layout),
    limits,
    registries,
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
    // Images that the operator pulls are available to every tenant.
    pull: (name, request = {}) => pulls.pull(referenceOf(name), { ...request, access: anyone }),
    load: (archive, options) => loadArchive(parts, archive, options),
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
  const { settings } = await registries.current();
  const own = loginsFor(reference, logins, settings);
  const here = findImage(await index.list(), name);
  const isUsable = here !== undefined && mayUse(here, accessKey(own));
  if (isUsable && policy !== "Always") return here;
  // If the image was pulled with another login, the registry decides about this one. Blobs are not fetched if the digest is the same.
  if (policy !== "Never") return pulls.pull(reference, { logins: own, namespace, signal });
  const why = here === undefined ? "it is not present" : "it was pulled with credentials that this Pod does not have";
  throw new NodeError("ErrImageNeverPull", `Cannot use image "${name}": ${why}, and its pull policy is Never`);
}

async function toImage({ layers, now }: StoreParts, { id, description }: StoredImage): Promise<Image> {
  const { diffIds } = description;
  const top = diffIds.at(-1);
  if (top !== undefined) await layers.touch(top, now());
  // An image lists its lowest layer first, and overlayfs its uppermost.
  const paths = await Promise.all(diffIds.toReversed().map((diffId) => layers.shortPathOf(diffId)));
  return { id, layers: paths, config: configOf(description) };
}

function referenceOf(name: string): Reference {
  const parsed = parseReference(name);
  if ("error" in parsed) throw new NodeError("InvalidImageName", parsed.error);
  return parsed.reference;
}

/** Removes temporary folders of processes that crashed. */
async function removeLeftovers({ layout, layers }: StoreParts): Promise<void> {
  await layers.removeUnfinished();
  const staging = join(layout.imagesDir, "staging");
  for (const name of await namesIn(staging)) {
    const pid = Number.parseInt(name, 10);
    if (pid === process.pid || (await namesIn(`/proc/${pid}`)).length > 0) continue;
    await rm(join(staging, name), { recursive: true, force: true });
  }
}

import { mkdirSync } from "node:fs";
import type { Container } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { mountOverlay, mountsUnder } from "../system/mounts.ts";
import type { Trash } from "../system/trash.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import { builtInImages, type Image, type ImageStore } from "./image-store.ts";
import { keptPaths, readKept, takeKept } from "./kept-rootfs.ts";
import { mountMappedLayers } from "./mapped-layers.ts";

/** The overlayfs folders that receive a container's writes. */
export interface WritableLayer {
  readonly upper: string;
  readonly work: string;
}

export interface RootfsPlace {
  readonly layout: Layout;
  readonly rootfs: string;
  readonly layer: WritableLayer;
  /** The user namespace that owns the files, for a Pod that has one. */
  readonly users?: OpenUsers | undefined;
}

/** Mounts a container's root filesystem unless it is mounted already. */
export async function mountRootfs(image: Image, place: RootfsPlace): Promise<void> {
  if (!(await mountsUnder(place.rootfs)).includes(place.rootfs)) await mountNewRootfs(image, place);
}

export async function mountNewRootfs(image: Image, { layout, rootfs, layer, users }: RootfsPlace): Promise<void> {
  const { upper, work } = layer;
  for (const folder of [upper, work, rootfs]) mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (users === undefined) await mountOverlay(rootfs, { lower: image.layers, upper, work });
  else await mountMappedLayers(rootfs, image.layers, { layout, users, writable: layer });
}

/**
 * The image of a container. It is the one that was resolved for this Pod, by id, because the name may refer to another image
 * later or for other logins. A Pod with a kept root filesystem gets the image that it was written over, if the name in the
 * spec is the same.
 */
export async function imageFor(
  { images, layout }: { readonly images: ImageStore; readonly layout: Layout },
  { keptFor, found }: { readonly keptFor: string; readonly found: string | undefined },
  { name, image: reference = "" }: Container,
): Promise<Image> {
  const kept = keptFor === "" ? undefined : await readKept(keptPaths(layout, keptFor, name));
  const below = kept?.reference === reference ? await images.byId(kept.image) : undefined;
  if (below !== undefined) return below;
  if (builtInImages.includes(reference)) return images.resolve(reference);
  const image = found === undefined ? undefined : await images.byId(found);
  if (image !== undefined) return image;
  throw new NodeError("ErrImagePull", `Cannot use image "${reference}": it was removed after it was pulled`);
}

/** The writable layer of a container: in the Pod's folder, or in the folder kept for the next Pod of the same Sandbox. */
export async function writableLayer(
  { layout, trash }: { readonly layout: Layout; readonly trash: Pick<Trash, "discard"> },
  { keptFor, holder }: { readonly keptFor: string; readonly holder: string },
  { name, image: reference = "" }: Container,
  { image, own }: { readonly image: Image; readonly own: WritableLayer },
): Promise<WritableLayer> {
  if (keptFor === "") return own;
  const paths = keptPaths(layout, keptFor, name);
  await takeKept(layout, paths, { reference, image: image.id, holder }, (path) => trash.discard(path));
  return paths;
}

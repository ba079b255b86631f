import { mkdir } from "node:fs/promises";
import { builtInImages } from "../image/image-store.ts";
import { mountMappedLayers } from "../image/mapped-layers.ts";
import { object, oneOf, satisfying } from "../pod/field-rules.ts";
import { mountReadOnlyLayers, mountsUnder } from "../system/mounts.ts";
import type { VolumeKind } from "./volume-kind.ts";

const reference = satisfying((value) => typeof value === "string" && value !== "", "an image reference");

/** The files of an image, read-only. */
export const imageVolume: VolumeKind = {
  field: "image",
  rule: () => object({ reference, pullPolicy: oneOf("Always", "IfNotPresent", "Never") }),
  mount: async (volume, { folder, machine, images, users: open }) => {
    const { reference: wanted = "" } = (volume as { image?: { reference?: string } }).image ?? {};
    const isBuiltIn = builtInImages.includes(wanted);
    const image = await (isBuiltIn ? machine.images.resolve(wanted) : machine.images.byId(images[volume.name] ?? ""));
    if (image === undefined) throw new Error("its image was removed after it was pulled");
    const isMounted = (await mountsUnder(folder)).includes(folder);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    await using users = await open?.();
    if (!isMounted) {
      if (users === undefined) await mountReadOnlyLayers(folder, image.layers);
      else await mountMappedLayers(folder, image.layers, { layout: machine.layout, users });
    }
    return { path: folder, readOnly: true, image: image.id, ...(users !== undefined && { isMapped: true }) };
  },
};

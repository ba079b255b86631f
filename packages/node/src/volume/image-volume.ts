import { mkdir } from "node:fs/promises";
import { object, oneOf, satisfying } from "../pod/field-rules.ts";
import { mountReadOnlyLayers, mountsUnder } from "../system/mounts.ts";
import type { VolumeKind } from "./volume-kind.ts";

const reference = satisfying((value) => typeof value === "string" && value !== "", "an image's name");

/** The files of an image, for all to read and none to write. */
export const imageVolume: VolumeKind = {
  field: "image",
  rule: () => object({ reference, pullPolicy: oneOf("Always", "IfNotPresent", "Never") }),
  mount: async ({ name }, { folder, machine, images }) => {
    const image = await machine.images.byId(images[name] ?? "");
    if (image === undefined) throw new Error("its image was removed after it was pulled");
    const isMounted = (await mountsUnder(folder)).includes(folder);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if (!isMounted) await mountReadOnlyLayers(folder, image.layers);
    return { path: folder, readOnly: true, image: image.id };
  },
};

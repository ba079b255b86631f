import { mkdir } from "node:fs/promises";
import { anything, object, satisfying } from "../pod/field-rules.ts";
import { mountReadOnlyLayers, mountsUnder } from "../system/mounts.ts";
import type { VolumeKind } from "./volume-kind.ts";

const reference = satisfying((value) => typeof value === "string" && value !== "", "an image's name");

/** The files of an image, for all to read and none to write. */
export const imageVolume: VolumeKind = {
  field: "image",
  rule: () => object({ reference, pullPolicy: anything }),
  mount: async (volume, { folder, machine }) => {
    const { image: wanted } = volume as { image?: { reference?: string } };
    const image = await machine.images.resolve(wanted?.reference ?? "");
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if (!(await mountsUnder(folder)).includes(folder)) await mountReadOnlyLayers(folder, image.layers);
    return { path: folder, readOnly: true, image: image.id };
  },
};

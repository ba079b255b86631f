import { mkdir } from "node:fs/promises";
import type { PullPolicy } from "../image/image-store.ts";
import { object, oneOf, satisfying } from "../pod/field-rules.ts";
import { mountReadOnlyLayers, mountsUnder } from "../system/mounts.ts";
import type { VolumeKind } from "./volume-kind.ts";

const reference = satisfying((value) => typeof value === "string" && value !== "", "an image's name");

/** The files of an image, for all to read and none to write. */
export const imageVolume: VolumeKind = {
  field: "image",
  rule: () => object({ reference, pullPolicy: oneOf("Always", "IfNotPresent", "Never") }),
  mount: async (volume, { folder, machine }) => {
    const { image: wanted } = volume as { image?: { reference?: string; pullPolicy?: PullPolicy } };
    const isMounted = (await mountsUnder(folder)).includes(folder);
    // Once it is shown it stays as it is, whatever the name stands for by then.
    const policy = isMounted ? "IfNotPresent" : wanted?.pullPolicy;
    const image = await machine.images.resolve(wanted?.reference ?? "", { policy });
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if (!isMounted) await mountReadOnlyLayers(folder, image.layers);
    return { path: folder, readOnly: true, image: image.id };
  },
};

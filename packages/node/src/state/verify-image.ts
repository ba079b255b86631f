import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type FileSum, hasSum } from "./file-sum.ts";
import { checkpointFolder, type FileSums } from "./image-files.ts";
import { StateError } from "./state-error.ts";

/** Throws `ImageDamaged` unless the files of a checkpoint are as they were written. */
export async function verifyFiles(image: string, sums: FileSums): Promise<void> {
  const checkpoint = checkpointFolder(image);
  const verify = async ([name, sum]: readonly [string, FileSum]): Promise<void> => {
    const path = join(checkpoint, name);
    const { size } = await stat(path).catch((cause: unknown) => {
      throw new StateError("ImageDamaged", `Cannot restore the image: its file ${name} cannot be read`, { cause });
    });
    if (size !== sum.bytes) {
      const why = `its file ${name} has ${size} bytes instead of ${sum.bytes}`;
      throw new StateError("ImageDamaged", `Cannot restore the image: ${why}`);
    }
    if (await hasSum(path, sum)) return;
    throw new StateError("ImageDamaged", `Cannot restore the image: the content of its file ${name} has changed`);
  };
  await Promise.all(Object.entries(sums).map(verify));
}

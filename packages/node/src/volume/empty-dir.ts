import { chmod, mkdir } from "node:fs/promises";
import { amountOf } from "../oci/quantity.ts";
import { object, oneOf, satisfying } from "../pod/field-rules.ts";
import { mountsUnder, mountTmpfs } from "../system/mounts.ts";
import type { VolumeKind } from "./volume-kind.ts";

const amount = satisfying((value) => (amountOf(value as string) ?? -1) > 0, "a quantity above zero");
/** Set with chmod, because of the umask: any user of the sandbox may write to an emptyDir. */
const mode = 0o777;

/** A folder that is removed with the Pod: on the disk, or in memory, which counts towards the writing container's limit. */
export const emptyDir: VolumeKind = {
  field: "emptyDir",
  group: "write",
  rule: () => object({ medium: oneOf("Memory"), sizeLimit: amount }),
  mount: async ({ emptyDir: wanted }, { folder, machine }) => {
    await mkdir(folder, { recursive: true });
    if (wanted?.medium !== "Memory") await chmod(folder, mode);
    else if (!(await mountsUnder(folder)).includes(folder)) {
      const sizeBytes = wanted.sizeLimit === undefined ? undefined : amountOf(wanted.sizeLimit);
      mountTmpfs(folder, { sizeBytes: sizeBytes ?? machine.defaults.memoryBytes, mode });
    }
    return { path: folder };
  },
};

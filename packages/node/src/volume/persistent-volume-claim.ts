import { mkdir } from "node:fs/promises";
import { isReason } from "@agent-sandbox/kube";
import { messageOf, NodeError } from "../errors.ts";
import { amountOf } from "../oci/quantity.ts";
import { anything, object, satisfying } from "../pod/field-rules.ts";
import { volumeClaims } from "../resources.ts";
import { claimFolder, volumeNameOf } from "../storage/local-volume.ts";
import type { VolumeKind } from "./volume-kind.ts";

const name = satisfying((value) => typeof value === "string" && value !== "", "a claim's name");

/** The folder of a claim, which is kept when the Pod is deleted. */
export const persistentVolumeClaim: VolumeKind = {
  field: "persistentVolumeClaim",
  group: "write",
  rule: () => object({ claimName: name, readOnly: anything }),
  mount: async ({ persistentVolumeClaim: wanted }, { machine, client, pod }) => {
    const claimName = wanted?.claimName ?? "";
    const key = { namespace: pod.metadata?.namespace ?? "", name: claimName };
    const claim = await client.get(volumeClaims, key).catch((error: unknown) => {
      if (isReason(error, "NotFound")) throw new NodeError("FailedMount", `claim "${claimName}" not found`);
      throw new NodeError("FailedMount", `cannot read claim "${claimName}": ${messageOf(error)}`, { cause: error });
    });
    const { uid = "", deletionTimestamp } = claim.metadata ?? {};
    if (deletionTimestamp !== undefined) throw new NodeError("FailedMount", `claim "${claimName}" is being deleted`);
    if (claim.status?.phase !== "Bound") throw new NodeError("FailedMount", `claim "${claimName}" is not bound yet`);
    if (claim.spec?.volumeName !== volumeNameOf(uid)) {
      throw new NodeError("FailedMount", `claim "${claimName}" is bound to a volume that this node did not create`);
    }
    const path = claimFolder(machine.layout, uid);
    await mkdir(path, { recursive: true, mode: 0o777 });
    const bytes = amountOf(claim.status?.capacity?.["storage"] ?? "") ?? 0;
    return { path, claim: { name: claimName, bytes }, ...(wanted?.readOnly === true && { readOnly: true }) };
  },
};

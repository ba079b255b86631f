import type { PersistentVolumeClaimSpec } from "@agent-sandbox/api";
import { isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { find } from "../../cluster/machine.ts";
import type { Account } from "../../keys/accounts.ts";
import { invalidParameter } from "../failure.ts";
import type { WantedClaim } from "./volumes.ts";

interface VolumeClaim extends KubeObject {
  readonly spec: PersistentVolumeClaimSpec;
}

const volumeClaims: Resource<VolumeClaim> = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
};

/** Creates the claims that do not exist, with the rights of the caller. They stay when the sandbox is gone. */
export async function ensureVolumeClaims(
  { client, namespace }: Account,
  wanted: readonly WantedClaim[],
): Promise<void> {
  for (const { name, isCreated, storage, storageClass, accessModes } of wanted) {
    if ((await find(client, volumeClaims, { namespace, name })) !== undefined) continue;
    if (!isCreated) throw invalidParameter(`volumes.pvc.claimName: there is no claim ${JSON.stringify(name)}`);
    const spec = {
      accessModes: [...accessModes],
      resources: { requests: { storage } },
      ...(storageClass !== undefined && { storageClassName: storageClass }),
    } as PersistentVolumeClaimSpec;
    const metadata = { name, namespace };
    await client
      .create(volumeClaims, { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec })
      .catch((error: unknown) => {
        // Created by another request in the meantime.
        if (!isReason(error, "AlreadyExists")) throw error;
      });
  }
}

import { join } from "node:path";
import type { PersistentVolumeClaim } from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import { isSafeUid, type Layout } from "../layout.ts";

/** The storage class of volumes that are folders of this machine. It is the default class. */
export const localClass = "local";
export const provisioner = "agents.x-k8s.io/local";

export type Quantities = Readonly<Record<string, string>>;

interface ClaimReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
}

export interface PersistentVolume extends KubeObject {
  readonly spec?: {
    readonly capacity?: Quantities;
    readonly accessModes?: readonly string[];
    readonly persistentVolumeReclaimPolicy?: string;
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly hostPath?: { readonly path: string; readonly type?: string };
    readonly claimRef?: ClaimReference;
  };
  readonly status?: { readonly phase?: string };
}

/** The folder of a claim's files. It is removed with the claim, not with its Pods. */
export function claimFolder({ dataDir }: Layout, uid: string): string {
  if (!isSafeUid(uid)) throw new Error(`"${uid}" is not a valid UID of a claim`);
  return join(dataDir, "volumes", uid);
}

export const volumeNameOf = (uid: string): string => `pvc-${uid}`;

/** Annotation on a volume: whether the filesystem enforces its size. If not, the node reports when it is exceeded. */
export const sizeAnnotation = "agents.x-k8s.io/size-enforced";

/** The PersistentVolume for a claim of our class. */
export function volumeFor(claim: PersistentVolumeClaim, layout: Layout, enforced: boolean): PersistentVolume {
  const { metadata = {}, spec = {} } = claim;
  const { namespace = "", name = "", uid = "" } = metadata;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: volumeNameOf(uid),
      annotations: { "pv.kubernetes.io/provisioned-by": provisioner, [sizeAnnotation]: String(enforced) },
    },
    spec: {
      capacity: { storage: requested(claim) },
      accessModes: spec.accessModes ?? ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: localClass,
      volumeMode: "Filesystem",
      hostPath: { path: claimFolder(layout, uid), type: "DirectoryOrCreate" },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
    },
  };
}

export function requested({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.["storage"] ?? "0";
}

import type { Sandbox } from "@agent-sandbox/api";
import { isName } from "../../cluster/names.ts";
import { flagField, listField, objectField, textField } from "../../http/fields.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { invalidParameter, notSupported } from "../failure.ts";
import { isQuantity } from "./quantity.ts";

type PodSpec = Sandbox["spec"]["podTemplate"]["spec"];

/** A PersistentVolumeClaim that a sandbox mounts. */
export interface WantedClaim {
  readonly name: string;
  /** Whether it is created unless it exists. Otherwise it must exist. */
  readonly isCreated: boolean;
  readonly storage: string;
  readonly storageClass: string | undefined;
  readonly accessModes: readonly string[];
}

/** PersistentVolumeClaims, and where they are mounted. */
export interface Volumes {
  readonly claims: readonly WantedClaim[];
  readonly volumes: NonNullable<PodSpec["volumes"]>;
  readonly mounts: NonNullable<PodSpec["containers"][number]["volumeMounts"]>;
}

const maxVolumes = 32;
const subdomain = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Reads `volumes`. */
export function readVolumes(list: readonly unknown[]): Volumes {
  if (list.length > maxVolumes) throw invalidParameter(`volumes can have ${maxVolumes} entries`);
  const read = list.map((value) => {
    if (typeof value !== "object" || value === null) throw invalidParameter("volumes must be a list of objects");
    return readVolume(value as JsonObject);
  });
  return {
    claims: read.map(({ claim }) => claim),
    volumes: read.map(({ volume }) => volume),
    mounts: read.map(({ mount }) => mount),
  };
}

interface ReadVolume {
  readonly claim: WantedClaim;
  readonly volume: Volumes["volumes"][number];
  readonly mount: Volumes["mounts"][number];
}

function readVolume(given: JsonObject): ReadVolume {
  for (const kind of ["host", "ossfs"]) {
    if (objectField(given, kind) !== undefined)
      throw invalidParameter(`volumes.${kind} is not supported by this server`);
  }
  const claim = readClaim(objectField(given, "pvc") ?? {});
  const name = textField(given, "name") ?? "";
  const readOnly = flagField(given, "readOnly") ?? false;
  const subPath = textField(given, "subPath");
  const mountPath = textField(given, "mountPath") ?? "";
  if (!isName(name)) throw invalidParameter("volumes.name must be a DNS label");
  if (!/^\/[^:\0]{0,4000}$/.test(mountPath)) throw invalidParameter("volumes.mountPath must be an absolute path");
  return {
    claim,
    volume: { name, persistentVolumeClaim: { claimName: claim.name, ...(readOnly && { readOnly }) } },
    mount: { name, mountPath, ...(readOnly && { readOnly }), ...(subPath !== undefined && { subPath }) },
  };
}

const modes: ReadonlySet<unknown> = new Set(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]);

function readClaim(pvc: JsonObject): WantedClaim {
  const name = textField(pvc, "claimName") ?? "";
  const storage = textField(pvc, "storage") ?? "1Gi";
  const storageClass = textField(pvc, "storageClass");
  const accessModes = listField(pvc, "accessModes") ?? ["ReadWriteOnce"];
  if (!subdomain.test(name)) throw invalidParameter("volumes.pvc.claimName must be the name of a claim");
  if (!isQuantity(storage)) throw invalidParameter("volumes.pvc.storage must be a quantity such as 1Gi");
  if (storageClass !== undefined && !subdomain.test(storageClass)) {
    throw invalidParameter("volumes.pvc.storageClass must be the name of a StorageClass");
  }
  if (accessModes.length === 0 || !accessModes.every((mode) => modes.has(mode))) {
    throw invalidParameter(
      "volumes.pvc.accessModes can have ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod",
    );
  }
  if (flagField(pvc, "deleteOnSandboxTermination") === true) {
    throw notSupported("volumes.pvc.deleteOnSandboxTermination");
  }
  const isCreated = flagField(pvc, "createIfNotExists") ?? true;
  return { name, isCreated, storage, storageClass, accessModes: accessModes as readonly string[] };
}

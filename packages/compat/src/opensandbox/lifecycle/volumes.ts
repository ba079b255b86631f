import type { Sandbox } from "@agent-sandbox/api";
import { isName } from "../../cluster/names.ts";
import { flagField, objectField, textField } from "../../http/fields.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { invalidParameter, notSupported } from "../failure.ts";

type PodSpec = Sandbox["spec"]["podTemplate"]["spec"];

/** Existing PersistentVolumeClaims, and where they are mounted. */
export interface Volumes {
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
  return { volumes: read.map(({ volume }) => volume), mounts: read.map(({ mount }) => mount) };
}

function readVolume(given: JsonObject): { volume: Volumes["volumes"][number]; mount: Volumes["mounts"][number] } {
  for (const kind of ["host", "ossfs"]) {
    if (objectField(given, kind) !== undefined)
      throw invalidParameter(`volumes.${kind} is not supported by this server`);
  }
  const claim = objectField(given, "pvc") ?? {};
  const claimName = textField(claim, "claimName") ?? "";
  if (!subdomain.test(claimName)) throw invalidParameter("volumes.pvc.claimName must be the name of a claim");
  if (flagField(claim, "deleteOnSandboxTermination") === true) {
    throw notSupported("volumes.pvc.deleteOnSandboxTermination");
  }
  const name = textField(given, "name") ?? "";
  const readOnly = flagField(given, "readOnly") ?? false;
  const subPath = textField(given, "subPath");
  const mountPath = textField(given, "mountPath") ?? "";
  if (!isName(name)) throw invalidParameter("volumes.name must be a DNS label");
  if (!/^\/[^:\0]{0,4000}$/.test(mountPath)) throw invalidParameter("volumes.mountPath must be an absolute path");
  return {
    volume: { name, persistentVolumeClaim: { claimName, ...(readOnly && { readOnly }) } },
    mount: { name, mountPath, ...(readOnly && { readOnly }), ...(subPath !== undefined && { subPath }) },
  };
}

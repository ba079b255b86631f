import { type ApiObject, stringAt } from "../api-object.ts";

const shortModes: { readonly [mode: string]: string | undefined } = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

export function accessModes(modes: unknown): string {
  return Array.isArray(modes) ? modes.map((mode) => shortModes[String(mode)] ?? String(mode)).join(",") : "";
}

export function attributesClass(object: ApiObject): string {
  return stringAt(object, "spec", "volumeAttributesClassName") ?? "<unset>";
}

/** `namespace/name` of the claim that a volume is bound to. */
export function claimOf(volume: ApiObject): string {
  const name = stringAt(volume, "spec", "claimRef", "name");
  return name === undefined ? "" : `${stringAt(volume, "spec", "claimRef", "namespace") ?? ""}/${name}`;
}

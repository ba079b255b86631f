import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { duplicate, forbidden, invalidValue, required } from "../field-problems.ts";
import { labelField, optionalOneOf, requiredText } from "../field-rules.ts";
import { modeProblems, payloadProblems } from "./payload-validation.ts";

/** The names of the Pod's volumes that containers can mount, and the problems of the volumes. */
export function volumeProblems(spec: JsonObject): { names: Set<string>; problems: FieldError[] } {
  const names = new Set<string>();
  const problems = objectsAt(spec, "volumes").flatMap((volume, at) => {
    const path = `spec.volumes[${at}]`;
    const name = stringAt(volume, "name") ?? "";
    const found = [
      ...sourceProblems(volume, path),
      ...labelField(volume, "name", path),
      ...(names.has(name) ? [duplicate(`${path}.name`, name)] : []),
    ];
    if (found.length === 0) names.add(name);
    return found;
  });
  return { names, problems };
}

const requiredFields: { readonly [source: string]: string | undefined } = {
  configMap: "name",
  secret: "secretName",
  persistentVolumeClaim: "claimName",
  hostPath: "path",
};

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

function sourceProblems(volume: JsonObject, path: string): FieldError[] {
  const [source, ...others] = Object.keys(volume).filter((key) => key !== "name");
  if (source === undefined) return [required(path, "must specify a volume type")];
  const more = others.map((other) => forbidden(`${path}.${other}`, "may not specify more than 1 volume type"));
  const value = volume[source];
  if (!isJsonObject(value)) return more;
  const field = requiredFields[source];
  return [
    ...more,
    ...(field === undefined ? [] : requiredText(value, field, `${path}.${source}`)),
    ...modeProblems(value["defaultMode"], `${path}.${source}.defaultMode`),
    ...payloadProblems(source, value, `${path}.${source}`),
    ...(source === "hostPath" ? hostPathProblems(value, `${path}.hostPath`) : []),
  ];
}

function hostPathProblems(hostPath: JsonObject, path: string): FieldError[] {
  const place = stringAt(hostPath, "path") ?? "";
  const climbs = place.split("/").includes("..");
  return [
    ...(climbs ? [invalidValue(`${path}.path`, place, "must not contain '..'")] : []),
    ...optionalOneOf(hostPath, "type", path, hostPathTypes),
  ];
}

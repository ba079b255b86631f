import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { invalidValue } from "../field-problems.ts";
import { requiredText } from "../field-rules.ts";

/** The rules for files of volumes that contain data of API objects, with the messages and field names of kube-apiserver. */
export function payloadProblems(source: string, value: JsonObject, path: string): FieldError[] {
  switch (source) {
    case "configMap":
    case "secret":
      return itemProblems(value, path);
    case "downwardAPI":
      return fileProblems(value, path);
    case "projected":
      return objectsAt(value, "sources").flatMap((each, at) =>
        projectionProblems(each, `${path}.sources[${at}]`, path),
      );
    default:
      return [];
  }
}

function projectionProblems(source: JsonObject, path: string, volume: string): FieldError[] {
  const { configMap, secret, downwardAPI, serviceAccountToken: token } = source;
  return [
    ...(isJsonObject(secret) ? itemProblems(secret, `${path}.secret`) : []),
    ...(isJsonObject(configMap) ? itemProblems(configMap, `${path}.configMap`) : []),
    ...(isJsonObject(downwardAPI) ? fileProblems(downwardAPI, `${path}.downwardAPI`) : []),
    ...(isJsonObject(token) ? pathProblems(token, volume) : []),
  ];
}

function itemProblems(owner: JsonObject, path: string): FieldError[] {
  return objectsAt(owner, "items").flatMap((item, at) => {
    const where = `${path}.items[${at}]`;
    return [
      ...requiredText(item, "key", where),
      ...pathProblems(item, where),
      ...modeProblems(item["mode"], `${where}.mode`),
    ];
  });
}

/** The path has no index, as in kube-apiserver. */
function fileProblems(owner: JsonObject, path: string): FieldError[] {
  return objectsAt(owner, "items").flatMap((file) => [
    ...pathProblems(file, path),
    ...modeProblems(file["mode"], `${path}.mode`),
  ]);
}

function pathProblems(owner: JsonObject, path: string): FieldError[] {
  const place = stringAt(owner, "path") ?? "";
  const field = `${path}.path`;
  const isReserved = place.startsWith("..") && !place.startsWith("../");
  return [
    ...requiredText(owner, "path", path),
    ...descendingProblems(place, field),
    ...(isReserved ? [invalidValue(field, place, "must not start with '..'")] : []),
  ];
}

/** A path inside a volume must not lead out of it. */
export function descendingProblems(place: unknown, field: string): FieldError[] {
  if (typeof place !== "string") return [];
  return [
    ...(place.startsWith("/") ? [invalidValue(field, place, "must be a relative path")] : []),
    ...(place.split("/").includes("..") ? [invalidValue(field, place, "must not contain '..'")] : []),
  ];
}

export function modeProblems(mode: unknown, field: string): FieldError[] {
  if (typeof mode !== "number" || (mode >= 0 && mode <= 0o777)) return [];
  return [invalidValue(field, mode, "must be a number between 0 and 0777 (octal), both inclusive")];
}

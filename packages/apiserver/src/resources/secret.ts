import { badRequest, type FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, stringAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Strategy } from "./definition.ts";
import { forbidden, immutable, invalidValue, required, tooLong } from "./field-problems.ts";
import { configKeyProblems } from "./names.ts";

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** The limit for the data of a Secret or ConfigMap. */
export const maxDataBytes: number = 1024 * 1024;

/** Moves `stringData` to `data`, so that it is never stored. Errors never show values. */
export const secretStrategy: Strategy = {
  setDefaults: (secret) => {
    const { stringData, ...rest } = secret;
    const data = isJsonObject(rest["data"]) ? rest["data"] : {};
    const [broken] = Object.entries(data).find(([, value]) => !base64.test(String(value))) ?? [];
    if (broken !== undefined) {
      throw badRequest(`Secret in version "v1" cannot be handled as a Secret: illegal base64 data in data[${broken}]`);
    }
    const encoded = Object.entries(isJsonObject(stringData) ? stringData : {}).map(
      ([key, value]) => [key, Buffer.from(String(value)).toString("base64")] as const,
    );
    if (encoded.length === 0) return rest;
    return { ...rest, data: { ...data, ...Object.fromEntries(encoded) } };
  },
  validate: (secret, old) => [
    ...(old === undefined ? [] : changeProblems(secret, old)),
    ...dataProblems(dataOf(secret)),
    ...typeProblems(secret),
  ],
  selectableFields: { type: (secret) => stringAt(secret, "type") ?? "" },
};

const dataOf = (secret: ApiObject): JsonObject => (isJsonObject(secret["data"]) ? secret["data"] : {});

function dataProblems(data: JsonObject): FieldError[] {
  let bytes = 0;
  const problems = Object.entries(data).flatMap(([key, value]) => {
    bytes += Math.floor((String(value).length / 4) * 3);
    return configKeyProblems(key).map((problem) => invalidValue(`data[${key}]`, key, problem));
  });
  return bytes > maxDataBytes ? [...problems, tooLong("data", maxDataBytes)] : problems;
}

/** The keys that a Secret of a type must have. */
const keysOfType: { readonly [type: string]: readonly string[] | undefined } = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

const dockerTypes: ReadonlySet<string> = new Set(["kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"]);

const accountAnnotation = "kubernetes.io/service-account.name";

function typeProblems(secret: ApiObject): FieldError[] {
  const data = dataOf(secret);
  const type = stringAt(secret, "type") ?? "";
  if (type === "kubernetes.io/service-account-token") {
    const account = secret.metadata.annotations?.[accountAnnotation] ?? "";
    return account === "" ? [required(`metadata.annotations[${accountAnnotation}]`)] : [];
  }
  if (type === "kubernetes.io/basic-auth") {
    const keys = ["username", "password"];
    return keys.some((key) => key in data) ? [] : keys.map((key) => required(`data[${key}]`));
  }
  // A type can have the name of an inherited member, such as `constructor`.
  const keys = Object.hasOwn(keysOfType, type) ? (keysOfType[type] ?? []) : [];
  const missing = keys.filter((key) => !(key in data)).map((key) => required(`data[${key}]`));
  return missing.length > 0 || !dockerTypes.has(type) ? missing : dockerProblems(data, keys[0] ?? "");
}

function dockerProblems(data: JsonObject, key: string): FieldError[] {
  try {
    if (isJsonObject(JSON.parse(Buffer.from(String(data[key]), "base64").toString()))) return [];
  } catch {
    // Invalid JSON is reported below.
  }
  return [invalidValue(`data[${key}]`, "<secret contents redacted>", "must be a JSON object")];
}

function changeProblems(secret: ApiObject, old: ApiObject): FieldError[] {
  return [
    ...(secret["type"] === old["type"] ? [] : [immutable("type", secret["type"])]),
    ...lockedProblems(secret, old, ["data"]),
  ];
}

/** The problems of changes to an object with `immutable: true`. */
export function lockedProblems(object: ApiObject, old: ApiObject, fields: readonly string[]): FieldError[] {
  if (old["immutable"] !== true) return [];
  const why = "field is immutable when `immutable` is set";
  return [
    ...(object["immutable"] === true ? [] : [forbidden("immutable", why)]),
    ...fields
      .filter((field) => !equalJson(object[field] ?? {}, old[field] ?? {}))
      .map((field) => forbidden(field, why)),
  ];
}

import type { FieldError } from "../api-error.ts";
import { isJsonObject } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, typeError } from "./metadata.ts";

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** `stringData` is a way to write `data` without encoding it; it is never stored. */
export const secretStrategy: Strategy = {
  setDefaults: (secret) => {
    const { stringData, ...rest } = secret;
    const data = isJsonObject(rest["data"]) ? rest["data"] : {};
    const encoded = Object.entries(isJsonObject(stringData) ? stringData : {}).map(
      ([key, value]) => [key, Buffer.from(String(value)).toString("base64")] as const,
    );
    const typed = { type: "Opaque", ...rest } as typeof secret;
    return encoded.length === 0 ? typed : { ...typed, data: { ...data, ...Object.fromEntries(encoded) } };
  },
  validate: (secret) => dataProblems(secret["data"]),
};

function dataProblems(data: unknown): FieldError[] {
  if (data === undefined || data === null) return [];
  if (!isJsonObject(data)) return [typeError("data", data, "object")];
  return Object.entries(data).flatMap(([key, value]) => {
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key))
      return [invalidValue("data", key, "a valid key must consist of alphanumeric characters, '-', '_' or '.'")];
    const fine = typeof value === "string" && base64.test(value);
    return fine ? [] : [invalidValue(`data[${key}]`, "<hidden>", "must be a base64-encoded string")];
  });
}

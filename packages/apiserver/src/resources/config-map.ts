import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, tooLong } from "./field-problems.ts";
import { configKeyProblems } from "./names.ts";
import { lockedProblems, maxDataBytes } from "./secret.ts";

export const configMapStrategy: Strategy = {
  validate: (map, old) => [
    ...(old === undefined ? [] : lockedProblems(map, old, ["data", "binaryData"])),
    ...dataProblems(map),
  ],
};

function dataProblems(map: ApiObject): FieldError[] {
  const binary = isJsonObject(map["binaryData"]) ? map["binaryData"] : {};
  let bytes = 0;
  const problems = ["data", "binaryData"].flatMap((field) => {
    const entries = map[field];
    return Object.entries(isJsonObject(entries) ? entries : {}).flatMap(([key, value]) => {
      bytes += Buffer.byteLength(String(value));
      const twice = field === "data" && Object.hasOwn(binary, key);
      return [
        ...configKeyProblems(key).map((problem) => invalidValue(`${field}[${key}]`, key, problem)),
        ...(twice ? [invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")] : []),
      ];
    });
  });
  return bytes > maxDataBytes ? [...problems, tooLong("", maxDataBytes)] : problems;
}

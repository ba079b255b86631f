import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt } from "../../api-object.ts";
import { invalidValue, notSupported } from "../field-problems.ts";
import { optionalOneOf } from "../field-rules.ts";
import { qualifiedNameProblems } from "../names.ts";

const maxId = 2 ** 31 - 1;
const ids = ["runAsUser", "runAsGroup", "fsGroup"];

/** The rules of the security context of a Pod or a container. */
export function securityProblems(context: unknown, path: string): FieldError[] {
  if (!isJsonObject(context)) return [];
  const outOfRange = ids.flatMap((key) => {
    const id = context[key];
    if (typeof id !== "number" || (id >= 0 && id <= maxId)) return [];
    return [invalidValue(`${path}.${key}`, id, `must be between 0 and ${maxId}, inclusive`)];
  });
  const torn = context["privileged"] === true && context["allowPrivilegeEscalation"] === false;
  const why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
  return torn ? [...outOfRange, invalidValue(path, context, why)] : outOfRange;
}

export function tolerationProblems(spec: JsonObject): FieldError[] {
  return objectsAt(spec, "tolerations").flatMap((toleration, at) => oneProblems(toleration, `spec.tolerations[${at}]`));
}

function oneProblems(toleration: JsonObject, path: string): FieldError[] {
  const { key = "", operator = "", value = "", effect = "" } = toleration;
  const all = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  const seconds = toleration["tolerationSeconds"];
  return [
    ...(key === ""
      ? []
      : qualifiedNameProblems(String(key)).map((problem) => invalidValue(`${path}.key`, key, problem))),
    ...(key === "" && operator !== "Exists" ? [invalidValue(`${path}.operator`, operator, all)] : []),
    ...(seconds !== undefined && effect !== "NoExecute"
      ? [invalidValue(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...operatorProblems(operator, value, path),
    ...optionalOneOf(toleration, "effect", path, ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
  ];
}

function operatorProblems(operator: unknown, value: unknown, path: string): FieldError[] {
  const field = `${path}.operator`;
  if (operator === "" || operator === "Equal") return [];
  if (operator !== "Exists") return [notSupported(field, operator, ["Equal", "Exists"])];
  return value === "" ? [] : [invalidValue(field, value, "value must be empty when `operator` is 'Exists'")];
}

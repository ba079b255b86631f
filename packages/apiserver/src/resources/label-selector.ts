import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../api-object.ts";
import { forbidden, invalidValue, required } from "./field-problems.ts";
import { labelValueProblems, qualifiedNameProblems } from "./names.ts";

/** The rules of a selector in an object, such as a NetworkPolicy. The schema has checked the types before. */
export function labelSelectorProblems(selector: unknown, path: string): FieldError[] {
  if (!isJsonObject(selector)) return [];
  return [
    ...labelMapProblems(selector["matchLabels"], `${path}.matchLabels`),
    ...objectsAt(selector, "matchExpressions").flatMap((expression, at) =>
      expressionProblems(expression, `${path}.matchExpressions[${at}]`),
    ),
  ];
}

export function labelMapProblems(labels: unknown, field: string): FieldError[] {
  return Object.entries(isJsonObject(labels) ? labels : {}).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((problem) => invalidValue(field, key, problem)),
    ...labelValueProblems(String(value)).map((problem) => invalidValue(field, value, problem)),
  ]);
}

function expressionProblems(expression: JsonObject, path: string): FieldError[] {
  const key = stringAt(expression, "key") ?? "";
  const values = Array.isArray(expression["values"]) ? (expression["values"] as unknown[]) : [];
  return [
    ...operatorProblems(expression["operator"], values.length, path),
    ...qualifiedNameProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
    ...values.flatMap((value, at) =>
      labelValueProblems(String(value)).map((problem) => invalidValue(`${path}.values[${at}]`, value, problem)),
    ),
  ];
}

function operatorProblems(operator: unknown, values: number, path: string): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return values > 0 ? [] : [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      if (values === 0) return [];
      return [forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalidValue(`${path}.operator`, operator ?? "", "not a valid selector operator")];
  }
}

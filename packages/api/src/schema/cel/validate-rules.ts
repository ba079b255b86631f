import { Optional } from "@marcbachmann/cel-js";
import { type FieldError, fieldError, invalid } from "../field-error.ts";
import { childPath, keyPath } from "../field-path.ts";
import { isObject, type JsonObject, jsonEqual, ownValue } from "../json-value.ts";
import { fieldSpot, itemSpots, type Spot } from "../spot.ts";
import type { Json, StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { toCel } from "./cel-value.ts";
import { type CompiledRule, hasRules, rulesOf } from "./rules.ts";

/**
 * Evaluates the rules of `x-kubernetes-validations` on the value and everything in it. Rules that mention `oldSelf` run
 * only where there is an earlier value to compare with, the others do not complain about a value that was not changed.
 * The value must have passed the schema.
 */
export function validateRules(schema: StructuralSchema, spot: Spot): FieldError[] {
  if (!hasRules(schema) || spot.value === null) return [];
  return [...ownErrors(schema, spot), ...childErrors(schema, spot)];
}

function childErrors(schema: StructuralSchema, spot: Spot): FieldError[] {
  const { items } = schema;
  if (Array.isArray(spot.value)) {
    if (items === undefined || !hasRules(items)) return [];
    return itemSpots(schema, spot, spot.value).flatMap((item) => validateRules(items, item));
  }
  return isObject(spot.value) ? fieldErrors(schema, spot, spot.value) : [];
}

function fieldErrors(schema: StructuralSchema, spot: Spot, object: JsonObject): FieldError[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const property = ownValue(schema.properties, key);
    if (property !== undefined) return validateRules(property, fieldSpot(spot, key, value));
    const additional = schema.additionalProperties;
    if (typeof additional !== "object") return [];
    return validateRules(additional, fieldSpot(spot, key, value, keyPath(spot.path, key)));
  });
}

function ownErrors(schema: StructuralSchema, spot: Spot): FieldError[] {
  let self: { readonly cel: unknown } | undefined;
  const variables = (rule: ValidationRule): Variables => {
    self ??= { cel: celOf(schema, spot, spot.value) };
    const old = spot.old === undefined || spot.old === null ? undefined : celOf(schema, spot, spot.old);
    return { self: self.cel, oldSelf: rule.optionalOldSelf ? Optional.of(old) : old };
  };
  return rulesOf(schema).flatMap((compiled) => {
    const error = evaluateRule(schema, spot, compiled, variables);
    return error === undefined ? [] : [error];
  });
}

/** The object that was sent is always a resource, whether its schema says so or not. */
function celOf(schema: StructuralSchema, { path }: Spot, value: Json): unknown {
  return path === "" ? toCel(schema, value, true) : toCel(schema, value);
}

interface Variables {
  readonly self: unknown;
  readonly oldSelf: unknown;
}

function evaluateRule(
  schema: StructuralSchema,
  spot: Spot,
  compiled: CompiledRule,
  variables: (rule: ValidationRule) => Variables,
): FieldError | undefined {
  const { rule, compilation } = compiled;
  const type = schema.type ?? "";
  if ("error" in compilation) return invalid(spot.path, type, `rule compile error: ${compilation.error}`);
  const { program } = compilation;
  const hasOld = spot.old !== undefined && spot.old !== null;
  if (program.usesOldSelf && !hasOld && !rule.optionalOldSelf) return undefined;
  const named = rule.message?.trim() || rule.rule.trim();
  if (program.loops > 1 && longestCollection(spot.value) ** program.loops > mostSteps) {
    return invalid(spot.path, type, `call cost exceeds limit for rule: ${named}`);
  }
  try {
    if (program.run(variables(rule)) === true) return undefined;
  } catch (error) {
    return invalid(spot.path, type, `${(error as Error).message} evaluating rule: ${named}`);
  }
  if (!program.usesOldSelf && hasOld && jsonEqual(spot.value, spot.old)) return undefined;
  return failure(schema, spot, rule, messageOf(compiled, variables));
}

// About a second of work. Evaluation cannot be interrupted, so loops within loops are judged before they start.
const mostSteps = 1_000_000;

function longestCollection(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const children = Object.values(value);
  return children.reduce((longest: number, child) => Math.max(longest, longestCollection(child)), children.length);
}

// Kubernetes' bound for a computed message.
const longestMessage = 5 * 1024;

function messageOf({ rule, message }: CompiledRule, variables: (rule: ValidationRule) => Variables): string {
  const fixed = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`;
  if (message === undefined || "error" in message) return fixed;
  try {
    const text = message.program.run(variables(rule));
    const trimmed = typeof text === "string" ? text.trim() : "";
    return trimmed === "" || trimmed.includes("\n") || trimmed.length > longestMessage ? fixed : trimmed;
  } catch {
    return fixed;
  }
}

function failure(schema: StructuralSchema, spot: Spot, rule: ValidationRule, detail: string): FieldError {
  const path = rule.fieldPath === undefined ? spot.path : blamedPath(schema, spot.path, rule.fieldPath);
  const reason = rule.reason ?? "FieldValueInvalid";
  const shown = reason === "FieldValueInvalid" || reason === "FieldValueDuplicate";
  const value = shown && schema.type !== "object" && schema.type !== "array" ? { value: spot.value } : {};
  return fieldError(reason, path, reason === "FieldValueDuplicate" ? value : { ...value, detail });
}

/** Follows a relative path such as `.a['b.c']`; below a map, names are keys. */
function blamedPath(schema: StructuralSchema, path: string, relative: string): string {
  let node: StructuralSchema | undefined = schema;
  let result = path;
  for (const match of relative.matchAll(/\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/g)) {
    const name = match[1] ?? (match[2] ?? "").replaceAll(/\\(.)/g, "$1");
    const property: StructuralSchema | undefined = ownValue(node?.properties, name);
    const additional: boolean | StructuralSchema | undefined = node?.additionalProperties;
    result = property ? childPath(result, name) : keyPath(result, name);
    node = property ?? (typeof additional === "object" ? additional : undefined);
  }
  return result;
}

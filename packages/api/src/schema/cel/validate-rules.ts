import { Optional } from "@marcbachmann/cel-js";
import { type FieldError, fieldError, invalid } from "../field-error.ts";
import { childPath, keyPath } from "../field-path.ts";
import { isObject, type JsonObject, jsonEqual, ownValue } from "../json-value.ts";
import { fieldSpot, itemSpots, type Spot } from "../spot.ts";
import type { Json, StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { Budget, CostError, objectTooCostly } from "./budget.ts";
import { escapeName, toCel } from "./cel-value.ts";
import { type CompiledRule, hasRules, readByRules, rulesOf } from "./rules.ts";

/**
 * Evaluates the rules of `x-kubernetes-validations` on the value and all its parts. Rules that use `oldSelf` run only if there is
 * an old value; errors of other rules are ignored for unchanged values. The value must already be valid against the schema.
 */
export function validateRules(schema: StructuralSchema, spot: Spot): FieldError[] {
  return hasRules(schema) ? errorsAt(schema, spot, new Budget()) : [];
}

function errorsAt(schema: StructuralSchema, spot: Spot, budget: Budget): FieldError[] {
  if (!hasRules(schema) || spot.value === null || budget.isExhausted) return [];
  return [...ownErrors(schema, spot, budget), ...childErrors(schema, spot, budget)];
}

function childErrors(schema: StructuralSchema, spot: Spot, budget: Budget): FieldError[] {
  const { items } = schema;
  if (Array.isArray(spot.value)) {
    if (items === undefined || !hasRules(items)) return [];
    return itemSpots(schema, spot, spot.value).flatMap((item) => errorsAt(items, item, budget));
  }
  return isObject(spot.value) ? fieldErrors(schema, { ...spot, value: spot.value }, budget) : [];
}

function fieldErrors(schema: StructuralSchema, spot: Spot & { value: JsonObject }, budget: Budget): FieldError[] {
  return Object.entries(spot.value).flatMap(([key, value]) => {
    const property = ownValue(schema.properties, key);
    if (property !== undefined) return errorsAt(property, fieldSpot(spot, key, value), budget);
    const additional = schema.additionalProperties;
    if (typeof additional !== "object") return [];
    return errorsAt(additional, fieldSpot(spot, key, value, keyPath(spot.path, key)), budget);
  });
}

/** A part of an object whose schema has rules. */
interface Place {
  readonly schema: StructuralSchema;
  readonly spot: Spot;
  readonly budget: Budget;
  readonly variables: (rule: ValidationRule) => Variables;
}

interface Variables {
  readonly self: unknown;
  readonly oldSelf: unknown;
}

function ownErrors(schema: StructuralSchema, spot: Spot, budget: Budget): FieldError[] {
  const rules = rulesOf(schema);
  if (rules.length === 0) return [];
  const place = { schema, spot, budget, variables: variablesAt(schema, spot) };
  const errors: FieldError[] = [];
  for (const rule of rules) {
    const error = evaluateRule(place, rule);
    if (error !== undefined) errors.push(error);
    if (budget.isExhausted) break;
  }
  return errors;
}

/** The variables are created when the first rule needs them. */
function variablesAt(schema: StructuralSchema, spot: Spot): Place["variables"] {
  let self: { readonly cel: unknown } | undefined;
  let old: { readonly cel: unknown } | undefined;
  return ({ optionalOldSelf }) => {
    self ??= { cel: celOf(schema, spot, spot.value) };
    old ??= { cel: spot.old === undefined || spot.old === null ? undefined : celOf(schema, spot, spot.old) };
    return { self: self.cel, oldSelf: optionalOldSelf ? Optional.of(old.cel) : old.cel };
  };
}

/** The root object is always a resource, even if its schema does not say so. */
function celOf(schema: StructuralSchema, { path }: Spot, value: Json): unknown {
  return path === "" ? toCel(schema, value, true) : toCel(schema, onlyRead(schema, value));
}

/** Converting only the fields that rules read saves time, because most rules read few fields of a large object. */
function onlyRead(schema: StructuralSchema, value: Json): Json {
  const read = isObject(value) && schema.properties !== undefined ? readByRules(schema) : "all";
  if (read === "all" || !isObject(value) || schema["x-kubernetes-embedded-resource"] === true) return value;
  const seen = Object.entries(value).filter(([key]) => read.has(escapeName(key) ?? ""));
  return Object.fromEntries(seen);
}

function evaluateRule(place: Place, compiled: CompiledRule): FieldError | undefined {
  const { schema, spot, budget } = place;
  const { rule, compilation } = compiled;
  const type = schema.type ?? "";
  if ("error" in compilation) return invalid(spot.path, type, `rule compile error: ${compilation.error}`);
  const { program } = compilation;
  const hasOld = spot.old !== undefined && spot.old !== null;
  if (program.usesOldSelf && !hasOld && !rule.optionalOldSelf) return undefined;
  try {
    if (program.run(place.variables(rule), budget) === true) return undefined;
  } catch (error) {
    return invalid(spot.path, type, whyNot(error as Error, rule));
  }
  if (!program.usesOldSelf && hasOld && jsonEqual(spot.value, spot.old)) return undefined;
  return failure(schema, spot, rule, messageOf(place, compiled));
}

function whyNot(error: Error, rule: ValidationRule): string {
  if (error === objectTooCostly) return error.message;
  const named = rule.message?.trim() || rule.rule.trim();
  if (error instanceof CostError) {
    return `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`;
  }
  // Occurs only where the type is not known when the rule is compiled, as with int-or-string.
  if (/^(found no matching overload|no such overload)/.test(error.message)) {
    return `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${named}`;
  }
  return `${error.message} evaluating rule: ${named}`;
}

// Kubernetes' limit for a computed message.
const longestMessage = 5 * 1024;

function messageOf({ variables, budget }: Place, { rule, message }: CompiledRule): string {
  const fixed = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`;
  if (message === undefined || "error" in message) return fixed;
  try {
    const text = message.program.run(variables(rule), budget);
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

/** Appends a relative path such as `.a['b.c']`. Names below a map are keys. */
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

import { type FieldError, invalid, required } from "./field-error.ts";
import { childPath } from "./field-path.ts";
import { isObject, type JsonObject, jsonEqual, ownValue } from "./json-value.ts";
import { fieldSpot, itemSpots, type Spot } from "./spot.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { validateLeaf } from "./validate-value.ts";

// A body of a few megabytes could have a million wrong items. Nobody reads more than this.
const mostErrors = 100;

/**
 * What is wrong with a value by the schema alone. What was already wrong in the earlier object and was not touched is
 * tolerated, so that a schema may become stricter without locking up the objects that exist.
 */
export function validateSchema(schema: StructuralSchema, spot: Spot): FieldError[] {
  const errors = [
    ...validateLeaf(schema, spot.value, spot.path),
    ...(spot.value === null ? [] : [...composedErrors(schema, spot), ...childErrors(schema, spot)]),
  ];
  if (errors.length > 0 && spot.old !== undefined && jsonEqual(spot.value, spot.old)) return [];
  return errors.slice(0, mostErrors);
}

function childErrors(schema: StructuralSchema, spot: Spot): FieldError[] {
  if (Array.isArray(spot.value)) return itemErrors(schema, spot);
  return isObject(spot.value) ? fieldErrors(schema, spot, spot.value) : [];
}

function itemErrors(schema: StructuralSchema, spot: Spot): FieldError[] {
  const { items } = schema;
  if (items === undefined || !Array.isArray(spot.value)) return [];
  const errors: FieldError[] = [];
  for (const item of itemSpots(schema, spot, spot.value)) {
    if (errors.length >= mostErrors) break;
    errors.push(...validateSchema(items, item));
  }
  return errors;
}

function fieldErrors(schema: StructuralSchema, spot: Spot, object: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(object)) {
    if (errors.length >= mostErrors) break;
    const property = ownValue(schema.properties, key) ?? schema.additionalProperties;
    if (typeof property === "object") errors.push(...validateSchema(property, fieldSpot(spot, key, value)));
  }
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(object, name));
  return [...errors, ...missing.map((name) => required(childPath(spot.path, name)))];
}

function composedErrors(schema: StructuralSchema, spot: Spot): FieldError[] {
  const { path } = spot;
  const say = (detail: string): FieldError => invalid(path, "", `${JSON.stringify(path)} must ${detail}`);
  return [
    ...(schema.anyOf?.length ? anyOfErrors(schema.anyOf, spot, say) : []),
    ...(schema.oneOf?.length ? oneOfErrors(schema.oneOf, spot, say) : []),
    ...(schema.allOf?.length ? allOfErrors(schema.allOf, spot, say) : []),
    ...(schema.not && isValid(schema.not, spot) ? [say("not validate the schema (not)")] : []),
  ];
}

type Alternatives = readonly StructuralSchema[];
type Say = (detail: string) => FieldError;

function anyOfErrors(alternatives: Alternatives, spot: Spot, say: Say): FieldError[] {
  const failures = failuresOf(alternatives, spot);
  if (failures.some((errors) => errors.length === 0)) return [];
  return [say("validate at least one schema (anyOf)"), ...nearest(failures)];
}

function oneOfErrors(alternatives: Alternatives, spot: Spot, say: Say): FieldError[] {
  const failures = failuresOf(alternatives, spot);
  const valid = failures.filter((errors) => errors.length === 0).length;
  if (valid === 1) return [];
  if (valid > 1) return [say(`validate one and only one schema (oneOf). Found ${valid} valid alternatives`)];
  return [say("validate one and only one schema (oneOf). Found none valid"), ...nearest(failures)];
}

function allOfErrors(parts: Alternatives, spot: Spot, say: Say): FieldError[] {
  const failures = failuresOf(parts, spot).filter((errors) => errors.length > 0);
  if (failures.length === 0) return [];
  const none = failures.length === parts.length ? ". None validated" : "";
  return [say(`validate all the schemas (allOf)${none}`), ...failures.flat()];
}

function failuresOf(alternatives: Alternatives, spot: Spot): FieldError[][] {
  return alternatives.map((alternative) => validateSchema(alternative, spot));
}

function isValid(schema: StructuralSchema, { value, path }: Spot): boolean {
  return validateSchema(schema, { value, path }).length === 0;
}

/** What was wrong with the alternative that came closest: the one with the fewest errors. */
function nearest(failures: readonly FieldError[][]): FieldError[] {
  return failures.reduce((best, errors) => (errors.length < best.length ? errors : best));
}

import { type FieldError, invalid, required } from "./field-error.ts";
import { childPath } from "./field-path.ts";
import { isObject, type JsonObject, jsonEqual, ownValue } from "./json-value.ts";
import { fieldSpot, itemSpots, type Spot } from "./spot.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateLeaf } from "./validate-value.ts";

// A body of a few megabytes could have a million invalid items.
const mostErrors = 100;

/**
 * Validates a value against the schema, without CEL rules. Errors in unchanged parts of the old object are ignored, so that
 * existing objects can still be updated after their schema became stricter.
 */
export function validateSchema(schema: StructuralSchema, spot: Spot): FieldError[] {
  const errors: FieldError[] = [];
  check(schema, spot, errors);
  return errors;
}

function check(schema: StructuralSchema, spot: Spot, errors: FieldError[]): void {
  if (errors.length >= mostErrors) return;
  const before = errors.length;
  const { value, old } = spot;
  validateLeaf(schema, value, spot.path, errors);
  if (isComposed(schema) && value !== null) errors.push(...composedErrors(schema, spot));
  if (Array.isArray(value)) checkItems(schema, spot, value, errors);
  else if (isObject(value)) checkFields(schema, spot, value, errors);
  if (errors.length > before && old !== undefined && jsonEqual(value, old)) errors.length = before;
}

function checkItems(schema: StructuralSchema, spot: Spot, list: readonly Json[], errors: FieldError[]): void {
  const { items } = schema;
  if (items === undefined) return;
  for (const item of itemSpots(schema, spot, list)) check(items, item, errors);
}

function checkFields(schema: StructuralSchema, spot: Spot, object: JsonObject, errors: FieldError[]): void {
  for (const key of Object.keys(object)) {
    const property = ownValue(schema.properties, key) ?? schema.additionalProperties;
    if (typeof property === "object") check(property, fieldSpot(spot, key, object[key] ?? null), errors);
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(object, name)) errors.push(required(childPath(spot.path, name)));
  }
}

function isComposed({ anyOf, oneOf, allOf, not }: StructuralSchema): boolean {
  return anyOf !== undefined || oneOf !== undefined || allOf !== undefined || not !== undefined;
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

/** The errors of the closest alternative, which is the one with the fewest errors. */
function nearest(failures: readonly FieldError[][]): FieldError[] {
  return failures.reduce((best, errors) => (errors.length < best.length ? errors : best));
}

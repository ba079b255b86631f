import { hasRules } from "./cel/rules.ts";
import { validateRules } from "./cel/validate-rules.ts";
import { type FieldError, fieldError, invalid } from "./field-error.ts";
import { isDeeperThan } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateEmbedded } from "./validate-embedded.ts";
import { validateLists } from "./validate-lists.ts";
import { validateSchema } from "./validate-schema.ts";

/** No resource is nested this deeply, and the stack is large enough for it. */
const deepest = 500;

export interface ValidateOptions {
  /** The object that is being replaced. Enables transition rules; errors in unchanged fields are ignored. */
  readonly old?: Json;
}

/**
 * Validates a value as the API server does: types, bounds, duplicates and, if these are valid, CEL rules. Prune and default
 * the value first. An empty list means that it is valid.
 */
export function validate(schema: StructuralSchema, value: Json, options: ValidateOptions = {}): FieldError[] {
  if (isDeeperThan(value, deepest)) {
    return [fieldError("FieldValueInvalid", "", { detail: `nested deeper than ${deepest} levels` })];
  }
  const { old } = options;
  const spot = old === undefined ? { value, path: "" } : { value, old, path: "" };
  const errors = [
    ...validateSchema(schema, spot),
    ...validateEmbedded(schema, value),
    ...newListErrors(schema, value, old),
  ];
  const known = uniqueErrors(errors);
  if (!known.some(({ reason }) => blocking.has(reason))) return [...known, ...validateRules(schema, spot)];
  return hasRules(schema) ? [...known, rulesSkipped] : known;
}

/** Duplicates that existed before the change are allowed, so that other fields of the object can be changed. */
function newListErrors(schema: StructuralSchema, value: Json, old: Json | undefined): FieldError[] {
  const errors = validateLists(schema, value);
  return errors.length > 0 && old !== undefined && validateLists(schema, old).length > 0 ? [] : errors;
}

/** After these errors a value may not have the type that the rules expect. */
const blocking = new Set<FieldError["reason"]>([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const rulesSkipped = invalid(
  "",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
);

function uniqueErrors(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [`${error.field}\n${error.message}`, error])).values()];
}

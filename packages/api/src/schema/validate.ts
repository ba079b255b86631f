import { hasRules } from "./cel/rules.ts";
import { validateRules } from "./cel/validate-rules.ts";
import { type FieldError, fieldError, invalid } from "./field-error.ts";
import { isDeeperThan } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateEmbedded } from "./validate-embedded.ts";
import { validateLists } from "./validate-lists.ts";
import { validateSchema } from "./validate-schema.ts";

/** Deeper than any resource, and far from what would exhaust the stack. */
const deepest = 500;

export interface ValidateOptions {
  /** The object that is being replaced: enables transition rules, and tolerates what was wrong before and is unchanged. */
  readonly old?: Json;
}

/**
 * What the API server would refuse in this value: types, bounds, duplicates and, if those are in order, CEL rules. Prune and
 * default the value first. Empty means valid.
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

/** A list that had duplicates before may keep them: whoever changes something else did not cause them. */
function newListErrors(schema: StructuralSchema, value: Json, old: Json | undefined): FieldError[] {
  const errors = validateLists(schema, value);
  return errors.length > 0 && old !== undefined && validateLists(schema, old).length > 0 ? [] : errors;
}

/** With these, values may not be what the rules count on. */
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

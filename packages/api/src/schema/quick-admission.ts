import { validateRules } from "./cel/validate-rules.ts";
import { type Dialect, QuickShaper } from "./quick-shape.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateEmbedded } from "./validate-embedded.ts";

/** `old`: see `ValidateOptions.old`. */
export type QuickAdmission = (schema: StructuralSchema, value: Json, old?: Json) => Json | undefined;

/**
 * Returns a function that does what `prune`, `applyDefaults` and `validate` do to an object that has no problem, several times
 * as fast. It returns `undefined` for every other object, which must then take those functions.
 */
export function quickAdmission(dialect: Dialect): QuickAdmission {
  const shaper = new QuickShaper(dialect);
  return (schema, value, old) => {
    const shaped = shaper.shape(schema, value);
    if (shaped === undefined) return undefined;
    const isValid = validateEmbedded(schema, shaped).length === 0 && followsRules(schema, shaped, old);
    return isValid ? shaped : undefined;
  };
}

function followsRules(schema: StructuralSchema, value: Json, old: Json | undefined): boolean {
  return validateRules(schema, old === undefined ? { value, path: "" } : { value, old, path: "" }).length === 0;
}

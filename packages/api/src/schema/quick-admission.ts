import { hasRules } from "./cel/rules.ts";
import { validateRules } from "./cel/validate-rules.ts";
import { type Dialect, QuickShaper } from "./quick-shape.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";
import { validateEmbedded } from "./validate-embedded.ts";
import { validateLists } from "./validate-lists.ts";

export interface QuickOptions {
  /** See `ValidateOptions.old`. */
  readonly old?: Json | undefined;
  /** Whether the items of keyed lists and sets may not repeat. */
  readonly uniqueItems: boolean;
}

/**
 * What `prune`, `applyDefaults` and `validate`, one after the other, make of an object that they have nothing to say about;
 * `undefined` when one of them might. Several times as fast as they are, which is what most objects get.
 */
export function quickAdmission(dialect: Dialect): QuickAdmission {
  const shaper = new QuickShaper(dialect);
  return (schema, value, { old, uniqueItems }) => {
    const shaped = shaper.shape(schema, value);
    if (shaped === undefined) return undefined;
    if (uniqueItems && validateLists(schema, shaped).length > 0) return undefined;
    if (validateEmbedded(schema, shaped).length > 0) return undefined;
    if (!hasRules(schema)) return shaped;
    const spot = old === undefined ? { value: shaped, path: "" } : { value: shaped, old, path: "" };
    return validateRules(schema, spot).length > 0 ? undefined : shaped;
  };
}

export type QuickAdmission = (schema: StructuralSchema, value: Json, options: QuickOptions) => Json | undefined;

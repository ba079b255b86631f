import { hasRules } from "./cel/rules.ts";
import { validateRules } from "./cel/validate-rules.ts";
import { KnownParts, type Part } from "./known-parts.ts";
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
  const known = dialect.partsAreFixed === true ? new KnownParts() : undefined;
  return (schema, value, options) => {
    const shaped = shaper.shape(schema, value);
    if (shaped === undefined) return undefined;
    const { old, uniqueItems } = options;
    const parts = known?.unknown(schema, shaped, old) ?? [{ schema, value: shaped }];
    if (!parts.every((part) => isInOrder(part, uniqueItems))) return undefined;
    // Rules of all parts are evaluated at one go, because they have one budget.
    if (parts.some((part) => hasRules(part.schema)) && !followsRules(schema, shaped, old)) return undefined;
    known?.add(schema, shaped, old);
    return shaped;
  };
}

export type QuickAdmission = (schema: StructuralSchema, value: Json, options: QuickOptions) => Json | undefined;

function isInOrder({ schema, value }: Part, uniqueItems: boolean): boolean {
  return (!uniqueItems || validateLists(schema, value).length === 0) && validateEmbedded(schema, value).length === 0;
}

function followsRules(schema: StructuralSchema, value: Json, old: Json | undefined): boolean {
  return validateRules(schema, old === undefined ? { value, path: "" } : { value, old, path: "" }).length === 0;
}

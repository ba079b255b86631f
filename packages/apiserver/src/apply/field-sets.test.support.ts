import * as fc from "fast-check";
import { type FieldSet, fieldSetOf } from "./field-set.ts";
import { field, itemWithKey, itemWithValue, type PathElement } from "./path-element.ts";

/** Few elements, so that two sets often have members in common. */
const element: fc.Arbitrary<PathElement> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b", "spec", "__proto__").map(field) },
  { weight: 1, arbitrary: fc.constantFrom("x", "<&>", 1).map((name) => itemWithKey({ name })) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>("x", 2, true, null).map(itemWithValue) },
);

export const fieldSet: fc.Arbitrary<FieldSet> = fc
  .array(fc.array(element, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
  .map(fieldSetOf);

export const anyElement: fc.Arbitrary<PathElement> = fc.oneof(
  fc.string({ unit: "grapheme" }).map(field),
  fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), { minKeys: 1 }).map(itemWithKey),
  fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.boolean(), fc.constant(null)).map(itemWithValue),
);

import * as z from "zod";
import { defaulted, objectOf, text } from "./object-schema.ts";

/** When members created from an older version of the template are replaced: immediately, or when they are claimed. */
export const updateStrategyTypes = ["Recreate", "OnReplenish"] as const;
export type UpdateStrategyType = (typeof updateStrategyTypes)[number];

export interface UpdateStrategy {
  type?: UpdateStrategyType;
}

/** A reference by name to an object of a known kind in the same namespace. */
export interface NameReference {
  name: string;
}

export const updateStrategy: z.ZodType<UpdateStrategy> = objectOf<UpdateStrategy>({
  type: defaulted<UpdateStrategyType>(z.enum(updateStrategyTypes), "OnReplenish").describe(
    "When members created from an older version of the template are replaced: Recreate replaces them immediately, OnReplenish when they are claimed.",
  ),
});

export const nameReference: z.ZodType<NameReference> = objectOf<NameReference>({
  name: text.describe("The name of the object, in the same namespace."),
});

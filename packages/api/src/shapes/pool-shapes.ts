import * as z from "zod";
import { defaulted, objectOf, text } from "./object-schema.ts";

/** When members made from an older template are replaced: at once, or as they are taken. */
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
    "When members made from an older template are replaced: Recreate does it at once, OnReplenish as they are claimed.",
  ),
});

export const nameReference: z.ZodType<NameReference> = objectOf<NameReference>({
  name: text.describe("The name of the object, in the same namespace."),
});

import * as z from "zod";
import type { JsonObject } from "../primitives/deep-equal.ts";

type Schemas = ReadonlyMap<string, z.ZodType>;

/** The fields of the spec or the status of a kind, by the versions that have them. */
export interface PartFields {
  readonly shared: ReadonlySet<string>;
  /** Fields of v1beta1, each with its schema. */
  readonly beta: Schemas;
  /** The fields that exist only in v1beta1. */
  readonly betaOnly: Schemas;
}

/**
 * Compares the schemas of two versions; undefined for a kind without status. A field that is added to a schema later is
 * converted without a change here.
 */
export function compareFields(alphaSchema: z.ZodType | undefined, betaSchema: z.ZodType | undefined): PartFields {
  const [alpha, beta] = [fieldsOf(alphaSchema), fieldsOf(betaSchema)];
  return {
    shared: new Set(alpha.keys().filter((name) => beta.has(name))),
    beta,
    betaOnly: new Map(beta.entries().filter(([name]) => !alpha.has(name))),
  };
}

export function pick(source: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(source).filter(([name]) => names.has(name)));
}

function fieldsOf(schema: z.ZodType | undefined): Schemas {
  if (schema === undefined) return new Map();
  if (!(schema instanceof z.ZodObject)) throw new TypeError("Cannot compare fields: the schema is not of an object");
  return new Map(Object.entries<z.ZodType>(schema.shape));
}

import type { StructuralSchema } from "@agent-sandbox/api";
import { kubernetesTypeKey } from "@agent-sandbox/api/zod";
import * as z from "zod";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The bounds that zod writes for an integer without bounds. */
const impliedBounds = new Set([-(2 ** 31), 2 ** 31 - 1, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);

/** Converts one of our zod schemas. `kubernetesType(name)` returns the structural schema of a Kubernetes type. */
export function structuralSchemaOfZod(
  schema: z.ZodType,
  kubernetesType: (definition: string) => StructuralSchema,
): StructuralSchema {
  const exported = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    reused: "inline",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      adjust(jsonSchema);
      inlineKubernetesType(jsonSchema, kubernetesType);
    },
  });
  return exported as unknown as StructuralSchema;
}

/** Removes what a CRD does not need: zod writes formats also as bounds and patterns, but Kubernetes checks formats itself. */
function adjust(schema: JsonSchema): void {
  if (schema.type === "integer") {
    if (impliedBounds.has(Number(schema.minimum))) delete schema.minimum;
    if (impliedBounds.has(Number(schema.maximum))) delete schema.maximum;
  }
  if (schema.format === "date-time") delete schema.pattern;
  if (schema.pattern !== undefined) schema.pattern = schema.pattern.replaceAll("\\/", "/");
  schema.required?.sort();
}

function inlineKubernetesType(schema: JsonSchema, kubernetesType: (definition: string) => StructuralSchema): void {
  const definition = schema[kubernetesTypeKey];
  if (typeof definition !== "string") return;
  delete schema[kubernetesTypeKey];
  Object.assign(schema, kubernetesType(definition));
}

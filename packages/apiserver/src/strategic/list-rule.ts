import type { MergeSchema } from "../apply/merge-schema.ts";

/** How a strategic merge treats a field. */
export interface PatchRule {
  readonly schema: MergeSchema;
  readonly merges: boolean;
  readonly replaces: boolean;
  /** The field that identifies the objects of a list; empty when there is none. */
  readonly mergeKey: string;
}

const unknownSchema: MergeSchema = {};

export function ruleOf(parent: MergeSchema, name: string): PatchRule {
  const { properties, additionalProperties } = parent;
  const named = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const schema = named ?? (typeof additionalProperties === "object" ? additionalProperties : unknownSchema);
  const strategies = schema["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  return {
    schema,
    merges: strategies.includes("merge"),
    replaces: strategies.includes("replace"),
    mergeKey: schema["x-kubernetes-patch-merge-key"] ?? "",
  };
}

export function itemSchema({ schema }: PatchRule): MergeSchema {
  return schema.items ?? unknownSchema;
}

import type { StructuralSchema } from "./structural-schema.ts";

/** The direct subschemas: of properties, items and additional properties. */
export function partsOf({ properties, items, additionalProperties }: StructuralSchema): StructuralSchema[] {
  return [
    ...Object.values(properties ?? {}),
    ...(items ? [items] : []),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
}

/** Whether a predicate holds for a schema or any of its subschemas. The result is cached per schema. */
export function somewhere(question: (schema: StructuralSchema) => boolean): (schema: StructuralSchema) => boolean {
  const answers = new WeakMap<StructuralSchema, boolean>();
  return function ask(schema: StructuralSchema): boolean {
    const known = answers.get(schema);
    if (known !== undefined) return known;
    const answer = question(schema) || partsOf(schema).some(ask);
    answers.set(schema, answer);
    return answer;
  };
}

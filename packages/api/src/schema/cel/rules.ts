import { partsOf, somewhere } from "../schema-parts.ts";
import type { StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { type Compilation, compile } from "./program.ts";

/** A rule of a schema, ready to run, or the reason why it never can. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly compilation: Compilation;
  readonly message: Compilation | undefined;
}

const compiled = new WeakMap<StructuralSchema, readonly CompiledRule[]>();

/** The rules of this schema itself, compiled the first time they are asked for. */
export function rulesOf(schema: StructuralSchema): readonly CompiledRule[] {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const rules = (schema["x-kubernetes-validations"] ?? []).map((rule) => ({
    rule,
    compilation: compile(rule.rule, "bool"),
    message: rule.messageExpression === undefined ? undefined : compile(rule.messageExpression, "string"),
  }));
  compiled.set(schema, rules);
  return rules;
}

/** Whether this schema or any part of it has rules: most have none, and then nothing need be walked. */
export const hasRules: (schema: StructuralSchema) => boolean = somewhere(
  (schema) => (schema["x-kubernetes-validations"]?.length ?? 0) > 0,
);

/** Every rule of a schema that cannot be compiled, for who admits the schema itself. */
export function ruleErrors(schema: StructuralSchema): string[] {
  if (!hasRules(schema)) return [];
  const own = rulesOf(schema).flatMap(({ rule, compilation, message }) => [
    ...("error" in compilation ? [`Cannot compile the rule "${rule.rule}": ${compilation.error}`] : []),
    ...(message && "error" in message
      ? [`Cannot compile the message expression "${rule.messageExpression}": ${message.error}`]
      : []),
  ]);
  return [...own, ...partsOf(schema).flatMap(ruleErrors)];
}

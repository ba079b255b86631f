import type { Environment } from "@marcbachmann/cel-js";
import { partsOf, somewhere } from "../schema-parts.ts";
import type { StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { type Compilation, compile, typeError } from "./program.ts";
import { typedEnvironment } from "./self-type.ts";

/** A rule of a schema, compiled, or the error why it cannot be compiled. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly compilation: Compilation;
  readonly message: Compilation | undefined;
}

const compiled = new WeakMap<StructuralSchema, readonly CompiledRule[]>();

/** The rules of this schema itself, without its parts. They are compiled on first use. */
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

const read = new WeakMap<StructuralSchema, ReadonlySet<string> | "all">();

/** The fields of a value, by their names in CEL, that the rules of its schema read. */
export function readByRules(schema: StructuralSchema): ReadonlySet<string> | "all" {
  const known = read.get(schema);
  if (known !== undefined) return known;
  const programs = rulesOf(schema).flatMap(({ compilation, message }) =>
    [compilation, message].flatMap((one) => (one !== undefined && "program" in one ? [one.program] : [])),
  );
  const found = programs.every(({ reads }) => reads !== undefined)
    ? new Set(programs.flatMap(({ reads = [] }) => reads))
    : "all";
  read.set(schema, found);
  return found;
}

/** Whether this schema or any part of it has rules. Most have none and need not be traversed. */
export const hasRules: (schema: StructuralSchema) => boolean = somewhere(
  (schema) => (schema["x-kubernetes-validations"]?.length ?? 0) > 0,
);

/** The result of checking a rule without an object. */
export interface RuleCheck {
  /** Whether a valid rule is a transition rule. */
  readonly usesOldSelf: boolean;
  /** Why the rule is invalid, for example because it reads a field that does not exist. */
  readonly ruleError: string | undefined;
  /** The same for its message expression, if the rule itself is valid. */
  readonly messageError: string | undefined;
}

/** Checks the rules of this schema itself, in their order, against its types. */
export function checkRules(schema: StructuralSchema, isRoot: boolean): RuleCheck[] {
  const environment = environments(schema, isRoot || schema["x-kubernetes-embedded-resource"] === true);
  return rulesOf(schema).map(({ rule, compilation, message }) => {
    const { messageExpression } = rule;
    const errorOf = (result: Compilation, expression: string, type: "bool" | "string"): string | undefined =>
      "error" in result ? result.error : typeError(expression, environment(rule), type);
    const ruleError = errorOf(compilation, rule.rule, "bool");
    const isCompiled = ruleError === undefined && "program" in compilation;
    return {
      usesOldSelf: isCompiled && compilation.program.usesOldSelf,
      ruleError,
      messageError:
        isCompiled && message && messageExpression ? errorOf(message, messageExpression, "string") : undefined,
    };
  });
}

/** One environment for each of the two types of `oldSelf`, created when it is needed. */
function environments(schema: StructuralSchema, isResource: boolean): (rule: ValidationRule) => Environment {
  const made = new Map<boolean, Environment>();
  return ({ optionalOldSelf = false }) => {
    const known = made.get(optionalOldSelf) ?? typedEnvironment(schema, { isResource, optionalOldSelf });
    made.set(optionalOldSelf, known);
    return known;
  };
}

/** The errors of all rules of a schema and its parts. */
export function ruleErrors(schema: StructuralSchema): string[] {
  return errorsIn(schema, true);
}

function errorsIn(schema: StructuralSchema, isRoot: boolean): string[] {
  if (!hasRules(schema)) return [];
  const own = checkRules(schema, isRoot).flatMap(({ ruleError, messageError }, at) => {
    const { rule = "", messageExpression = "" } = schema["x-kubernetes-validations"]?.[at] ?? {};
    return [
      ...(ruleError === undefined ? [] : [`Cannot compile the rule "${rule}": ${ruleError}`]),
      ...(messageError === undefined
        ? []
        : [`Cannot compile the message expression "${messageExpression}": ${messageError}`]),
    ];
  });
  return [...own, ...partsOf(schema).flatMap((part) => errorsIn(part, false))];
}

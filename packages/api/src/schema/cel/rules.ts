import type { Environment } from "@marcbachmann/cel-js";
import { partsOf, somewhere } from "../schema-parts.ts";
import type { StructuralSchema, ValidationRule } from "../structural-schema.ts";
import { type Compilation, compile, typeError } from "./program.ts";
import { typedEnvironment } from "./self-type.ts";

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

const read = new WeakMap<StructuralSchema, ReadonlySet<string> | "all">();

/** The fields of a value, as CEL spells them, that the rules of its schema look at. */
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

/** Whether this schema or any part of it has rules: most have none, and then nothing need be walked. */
export const hasRules: (schema: StructuralSchema) => boolean = somewhere(
  (schema) => (schema["x-kubernetes-validations"]?.length ?? 0) > 0,
);

/** What can be said of a rule before any object comes. */
export interface RuleCheck {
  /** Of a rule that can be kept. */
  readonly usesOldSelf: boolean;
  /** Why it cannot be kept: what it calls or reads is not there, or is of another type. */
  readonly ruleError: string | undefined;
  /** The same of its message, if the rule itself can be kept. */
  readonly messageError: string | undefined;
}

/** Judges the rules of this schema itself, in their order, given its types. */
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

/** One environment for each of the two types of `oldSelf`, made when it is needed. */
function environments(schema: StructuralSchema, isResource: boolean): (rule: ValidationRule) => Environment {
  const made = new Map<boolean, Environment>();
  return ({ optionalOldSelf = false }) => {
    const known = made.get(optionalOldSelf) ?? typedEnvironment(schema, { isResource, optionalOldSelf });
    made.set(optionalOldSelf, known);
    return known;
  };
}

/** Every rule of a schema that cannot be compiled, for who admits the schema itself. */
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

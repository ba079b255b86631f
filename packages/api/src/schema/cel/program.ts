import type { ASTNode, Environment, ParseResult } from "@marcbachmann/cel-js";
import { type Budget, CostError, runWithin } from "./budget.ts";
import { baseEnvironment, isAllowed, privateName, publicNames } from "./environment.ts";
import { meter } from "./meter.ts";

/** A compiled CEL expression over `self` and, if it mentions it, `oldSelf`. */
export interface Program {
  readonly usesOldSelf: boolean;
  /** Throws when evaluation fails, with a message for people, and `CostError` when it takes too long. */
  run(variables: { readonly self: unknown; readonly oldSelf?: unknown }, budget: Budget): unknown;
}

export type Compilation = { readonly program: Program } | { readonly error: string };
export type ResultType = "bool" | "string";

let untyped: Environment | undefined;

/** For running: it takes any `self`, as a stored object may not be what its schema says. */
function runEnvironment(): Environment {
  untyped ??= baseEnvironment().clone().registerVariable("self", "dyn").registerVariable("oldSelf", "dyn");
  return untyped;
}

/** The result says what is wrong with the expression, or that it cannot give the wanted type. */
export function compile(expression: string, type?: ResultType): Compilation {
  const parsed = prepare(expression, runEnvironment(), type);
  if (typeof parsed === "string") return { error: parsed };
  meter(parsed.ast);
  const usesOldSelf = [...nodesOf(parsed.ast)].some(({ op, args }) => op === "id" && args === "oldSelf");
  return { program: { usesOldSelf, run: (variables, budget) => evaluate(parsed, variables, budget) } };
}

/** What is wrong with an expression when the variables are as the environment declares them. */
export function typeError(expression: string, environment: Environment, type: ResultType): string | undefined {
  const parsed = prepare(expression, environment, type);
  return typeof parsed === "string" ? parsed : undefined;
}

// As long as kube-apiserver takes.
const longestExpression = 100_000;

function prepare(expression: string, environment: Environment, type: ResultType | undefined): ParseResult | string {
  if (expression.length > longestExpression) return `expression is longer than ${longestExpression} characters`;
  try {
    const parsed = environment.parse(expression);
    for (const node of nodesOf(parsed.ast)) {
      if (node.op !== "call" && node.op !== "rcall") continue;
      const name = node.args[0];
      if (!isAllowed(node.op, name)) return `undeclared reference to '${name}' (in container '')`;
      node.args[0] = privateName(name);
    }
    const checked = parsed.check();
    if (!checked.valid) return checked.error === undefined ? "cannot be type-checked" : summaryOf(checked.error);
    const isWanted = type === undefined || checked.type === type || checked.type === "dyn";
    return isWanted ? parsed : `${type === "bool" ? "cel expression" : "messageExpression"} must evaluate to a ${type}`;
  } catch (error) {
    return summaryOf(error);
  }
}

function evaluate(parsed: ParseResult, variables: object, budget: Budget): unknown {
  try {
    return runWithin(budget, () => parsed(variables) as unknown);
  } catch (error) {
    throw error instanceof CostError ? error : new Error(summaryOf(error), { cause: error });
  }
}

/** The library's own message repeats the source with a marker over several lines; the summary is one line. */
function summaryOf(error: unknown): string {
  const { summary, message } = error as { summary?: string; message: string };
  const text = publicNames(summary ?? message);
  return text.charAt(0).toLowerCase() + text.slice(1);
}

export function* nodesOf(node: unknown): Generator<ASTNode> {
  if (Array.isArray(node)) {
    for (const child of node) yield* nodesOf(child);
  } else if (isNode(node)) {
    yield node;
    yield* nodesOf(node.args);
  }
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}

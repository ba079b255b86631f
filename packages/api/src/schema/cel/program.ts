import type { ASTNode, Environment, ParseResult } from "@marcbachmann/cel-js";
import { Budget, CostError, runWithin } from "./budget.ts";
import { baseEnvironment, isAllowed, privateName, publicNames } from "./environment.ts";
import { useOwnHas } from "./library/has-macro.ts";
import { useMaps } from "./library/map-literal.ts";
import { literalError } from "./literals.ts";
import { meter } from "./meter.ts";
import { isNode, nodesOf } from "./syntax-tree.ts";

/** A compiled CEL expression over `self` and, if it mentions it, `oldSelf`. */
export interface Program {
  readonly usesOldSelf: boolean;
  /** The members of `self` and `oldSelf` that it looks at; `undefined` when it may look at all. */
  readonly reads: readonly string[] | undefined;
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
  const nodes = [...nodesOf(parsed.ast)];
  const usesOldSelf = nodes.some(({ op, args }) => op === "id" && args === "oldSelf");
  const reads = readsOf(nodes);
  return { program: { usesOldSelf, reads, run: (variables, budget) => evaluate(parsed, variables, budget) } };
}

function readsOf(nodes: readonly ASTNode[]): string[] | undefined {
  const members = nodes.flatMap(({ op, args }) => {
    const [of, name] = op === "." ? args : [];
    return isVariable(of) && name !== undefined ? [name] : [];
  });
  return members.length === nodes.filter(isVariable).length ? members : undefined;
}

const isVariable = (node: unknown): boolean =>
  isNode(node) && node.op === "id" && (node.args === "self" || node.args === "oldSelf");

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
      if (node.op === "call" && name === "has") useOwnHas(node);
      node.args[0] = privateName(name);
    }
    const checked = parsed.check();
    if (!checked.valid) return checked.error === undefined ? "cannot be type-checked" : summaryOf(checked.error);
    useMaps(parsed.ast);
    const wrong = literalError(parsed.ast, (text) => constantError(text));
    if (wrong !== undefined) return wrong;
    const isWanted = type === undefined || checked.type === type || checked.type === "dyn";
    return isWanted ? parsed : `${type === "bool" ? "cel expression" : "messageExpression"} must evaluate to a ${type}`;
  } catch (error) {
    return summaryOf(error);
  }
}

/** Why a part of an expression that is the same for every object fails, as kube-apiserver finds out beforehand. */
function constantError(text: string): string | undefined {
  try {
    const parsed = runEnvironment().parse(text);
    for (const node of nodesOf(parsed.ast)) if (node.op === "call") node.args[0] = privateName(node.args[0]);
    runWithin(new Budget(), () => parsed({}) as unknown);
    return undefined;
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

import type { ASTNode, Environment, ParseResult } from "@marcbachmann/cel-js";
import { Budget, CostError, currentBudget, MeteringError, runWithin } from "./budget.ts";
import { baseEnvironment, isAllowed, privateName, publicNames } from "./environment.ts";
import { useOwnHas } from "./library/has-macro.ts";
import { useMaps } from "./library/map-literal.ts";
import { literalError } from "./literals.ts";
import { meter } from "./meter.ts";
import { findMeteringError } from "./metering-check.ts";
import { isNode, nodesOf } from "./syntax-tree.ts";

/** A compiled CEL expression over `self` and, if it mentions it, `oldSelf`. */
export interface Program {
  readonly usesOldSelf: boolean;
  /** The fields of `self` and `oldSelf` that it reads, or `undefined` when it may read all of them. */
  readonly reads: readonly string[] | undefined;
  /** Throws when evaluation fails, with a message for users, and `CostError` or `MeteringError` as `runWithin` does. */
  run(variables: { readonly self: unknown; readonly oldSelf?: unknown }, budget: Budget): unknown;
}

export type Compilation = { readonly program: Program } | { readonly error: string };
export type ResultType = "bool" | "string";

/** The environment in which rules run. */
export interface Runtime {
  /** It accepts any `self`, because a stored object may be older than its schema and not match it. */
  readonly environment: Environment;
  /** Why no rule can run: the cost of expressions cannot be limited with this version of the CEL library. */
  readonly meteringError: string | undefined;
}

export function createRuntime(): Runtime {
  const environment = baseEnvironment().clone().registerVariable("self", "dyn").registerVariable("oldSelf", "dyn");
  const unchecked = { environment, meteringError: undefined };
  return { environment, meteringError: findMeteringError((expression) => compile(expression, "bool", unchecked)) };
}

let shared: Runtime | undefined;

function sharedRuntime(): Runtime {
  shared ??= createRuntime();
  return shared;
}

/** Throws `MeteringError` if the cost of rules cannot be limited. Without this check, every rule is refused when it is compiled. */
export function requireMetering(): void {
  const { meteringError } = sharedRuntime();
  if (meteringError !== undefined) throw new MeteringError(meteringError);
}

/** Returns an error if the expression is invalid, cannot have the requested type, or cannot be limited in its cost. */
export function compile(expression: string, type?: ResultType, runtime: Runtime = sharedRuntime()): Compilation {
  if (runtime.meteringError !== undefined) return { error: new MeteringError(runtime.meteringError).message };
  const parsed = prepare(expression, runtime.environment, type);
  if (typeof parsed === "string") return { error: parsed };
  const metering = meter(parsed.ast);
  if ("error" in metering) return { error: new MeteringError(metering.error).message };
  const nodes = [...nodesOf(parsed.ast)];
  const usesOldSelf = nodes.some(({ op, args }) => op === "id" && args === "oldSelf");
  const reads = readsOf(nodes);
  const run = metering.isAlwaysCharged ? charged(parsed) : parsed;
  return { program: { usesOldSelf, reads, run: (variables, budget) => evaluate(run, variables, budget) } };
}

/** Runs an expression that cannot succeed without being charged, and fails if it did. */
function charged(run: ParseResult): (variables: object) => unknown {
  return (variables) => {
    const budget = currentBudget();
    const before = budget?.charges;
    const result = run(variables) as unknown;
    if (budget?.charges === before) budget?.markUnmetered();
    return result;
  };
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

/** The error of an expression when its variables have the types that the environment declares. */
export function typeError(expression: string, environment: Environment, type: ResultType): string | undefined {
  const parsed = prepare(expression, environment, type);
  return typeof parsed === "string" ? parsed : undefined;
}

// The limit of kube-apiserver.
const maxExpressionLength = 100_000;

function prepare(expression: string, environment: Environment, type: ResultType | undefined): ParseResult | string {
  if (expression.length > maxExpressionLength) return `expression is longer than ${maxExpressionLength} characters`;
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

/** Evaluates a constant part of an expression. kube-apiserver reports its errors when the rule is compiled, too. */
function constantError(text: string): string | undefined {
  try {
    const parsed = sharedRuntime().environment.parse(text);
    for (const node of nodesOf(parsed.ast)) if (node.op === "call") node.args[0] = privateName(node.args[0]);
    runWithin(new Budget(), () => parsed({}) as unknown);
    return undefined;
  } catch (error) {
    return summaryOf(error);
  }
}

function evaluate(run: (variables: object) => unknown, variables: object, budget: Budget): unknown {
  try {
    return runWithin(budget, () => run(variables));
  } catch (error) {
    if (error instanceof CostError || error instanceof MeteringError) throw error;
    throw new Error(summaryOf(error), { cause: error });
  }
}

/** The library's message quotes the source over several lines; its summary is one line. */
function summaryOf(error: unknown): string {
  const { summary, message } = error as { summary?: string; message: string };
  const text = publicNames(summary ?? message);
  return text.charAt(0).toLowerCase() + text.slice(1);
}

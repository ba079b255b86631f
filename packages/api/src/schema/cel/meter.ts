import type { ASTNode } from "@marcbachmann/cel-js";
import { currentBudget, spend, weightOf } from "./budget.ts";
import { isOwnMacro } from "./library/macro-parts.ts";
import { isNode, nodesOf } from "./syntax-tree.ts";

/**
 * A node after the type check, as version 8 of the library builds it. None of this is part of the library's public interface:
 * `meter` therefore refuses every node that does not look like this, and `metering-check.ts` runs the result.
 */
interface CheckedNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly alternate?: CheckedNode; readonly macro?: object; readonly evaluate: Evaluate };
  handle?: (...args: unknown[]) => unknown;
  setMeta(key: "evaluate", value: Evaluate): void;
}
type Evaluate = (evaluator: unknown, node: unknown, scope: unknown) => unknown;

interface Comprehension {
  readonly step: CheckedNode;
}

/** The result of metering: why it is impossible, or whether each successful run is charged at least once. */
export type Metering = { readonly error: string } | { readonly isAlwaysCharged: boolean };

// A rule without loops does each thing once. When it is this short, its cost is that of reading the object.
const shortRuleNodes = 25;

/** Charges a checked expression, from the budget of its run, for everything that grows with its loops and values. */
export function meter(root: ASTNode): Metering {
  const nodes = [...nodesOf(root)] as unknown as CheckedNode[];
  const unknown = nodes.find((node) => !isMeterable(node));
  if (nodes.length === 0 || unknown !== undefined) {
    return { error: `the CEL library has changed: it evaluates "${unknown?.op ?? "expressions"}" in an unknown way` };
  }
  if (nodes.length <= shortRuleNodes && !nodes.some(isLoop)) return { isAlwaysCharged: false };
  for (const node of nodes) {
    const { alternate, macro } = node.meta;
    if (macro !== undefined) continue;
    if (alternate?.op === "comprehension") meterLoop(node, alternate);
    else if (costlyOperators.has(node.op)) meterOperator(node);
    else if (node.op === "call" || node.op === "rcall") meterCall(node);
  }
  return { isAlwaysCharged: isAlwaysCharged(root as unknown as CheckedNode) };
}

/** They read all of both operands. */
const costlyOperators = new Set(["==", "!=", "in", "+", "<", "<=", ">", ">="]);

/** They do a constant amount of work besides evaluating their operands. */
const cheapNodes = new Set("value id . .? [] [?] list map ?: || && !_ -_ - * / %".split(" "));

/** Macros of the library that evaluate one or two operands and do nothing else. */
const cheapMacros = new Set(["or", "orValue"]);

const loopNames = new Set(["all", "exists", "exists_one", "filter", "map"]);

/** Whether the node is evaluated in a way that can be charged. */
function isMeterable(node: CheckedNode): boolean {
  if (typeof node.meta !== "object" || node.meta === null || typeof node.setMeta !== "function") return false;
  const { alternate, macro } = node.meta;
  const name = node.op === "rcall" ? String((node.args as unknown[])[0]) : "";
  // Our own macros charge by themselves.
  if (macro !== undefined) return isOwnMacro(macro) || cheapMacros.has(name);
  if (cheapNodes.has(node.op)) return true;
  if (alternate !== undefined) return isKnownLoop(alternate);
  if (loopNames.has(name)) return false;
  const isCharged = costlyOperators.has(node.op) || node.op === "call" || node.op === "rcall";
  return isCharged && typeof node.handle === "function";
}

function isKnownLoop(loop: CheckedNode): boolean {
  if (loop.op !== "comprehension" || typeof loop.handle !== "function") return false;
  const { step } = loop.args as Comprehension;
  return isNode(step) && typeof step.meta?.evaluate === "function" && typeof step.setMeta === "function";
}

const isLoop = ({ meta }: CheckedNode): boolean => meta.alternate?.op === "comprehension" || meta.macro !== undefined;

function meterOperator(node: CheckedNode): void {
  const { handle } = node;
  node.handle = (left, right, ...rest) => {
    spend(1 + weightOf(left) + weightOf(right));
    return handle?.(left, right, ...rest);
  };
}

function meterCall(node: CheckedNode): void {
  const { handle } = node;
  node.handle = (values, ...rest) => {
    spend(2);
    for (const value of values as unknown[]) spend(weightOf(value));
    return handle?.(values, ...rest);
  };
}

/** Each round costs as many steps as the body has nodes. Loops within the body are charged on top. */
function meterLoop(node: CheckedNode, loop: CheckedNode): void {
  const { step } = loop.args as Comprehension;
  const cost = [...nodesOf((node.args as unknown[])[2])].length;
  const { evaluate } = step.meta;
  let rounds = 0;
  step.setMeta("evaluate", (evaluator, self, scope) => {
    rounds += 1;
    spend(cost);
    return evaluate(evaluator, self, scope);
  });
  const { handle } = loop;
  loop.handle = (items, ...rest) => {
    // Of a map, the library lists the keys first.
    spend(Array.isArray(items) ? 1 : weightOf(items));
    const before = rounds;
    const result = handle?.(items, ...rest);
    // Every kind of loop runs its body for the first item.
    if (Array.isArray(items) && items.length > 0 && rounds === before) currentBudget()?.markUnmetered();
    return result;
  };
}

/** Whether a run that succeeds must have evaluated a node that is charged. */
function isAlwaysCharged(node: CheckedNode): boolean {
  const children = (Array.isArray(node.args) ? node.args.flat(2) : [node.args]).filter(
    isNode,
  ) as unknown as CheckedNode[];
  switch (node.op) {
    case "&&":
    case "||":
      // One of the two sides must have succeeded, but it can be either of them.
      return children.every(isAlwaysCharged);
    case "?:": {
      const [condition, ...branches] = children;
      return (condition !== undefined && isAlwaysCharged(condition)) || branches.every(isAlwaysCharged);
    }
    case "call":
    case "rcall":
      return node.meta.macro === undefined;
    default:
      return costlyOperators.has(node.op) || children.some(isAlwaysCharged);
  }
}

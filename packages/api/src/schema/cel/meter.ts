import type { ASTNode } from "@marcbachmann/cel-js";
import { spend, weightOf } from "./budget.ts";

/** A node as it is after the check: what does its work is a function that the node keeps. */
interface CheckedNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly alternate?: CheckedNode; readonly macro?: unknown; readonly evaluate: Evaluate };
  handle?: (...args: unknown[]) => unknown;
  setMeta(key: "evaluate", value: Evaluate): void;
}
type Evaluate = (evaluator: unknown, node: unknown, scope: unknown) => unknown;

interface Comprehension {
  readonly step: CheckedNode;
}

// A rule without loops does each thing once. When it is this short, its cost is that of reading the object.
const shortRule = 25;

/** Makes a checked expression pay, from the budget of whoever runs it, for what grows with its loops and its values. */
export function meter(root: ASTNode): void {
  const size = count(root);
  const nodes: CheckedNode[] = [];
  collect(root, nodes);
  if (size <= shortRule && !nodes.some(isLoop)) return;
  for (const node of nodes) {
    const { alternate } = node.meta;
    if (alternate?.op === "comprehension") meterLoop(node, alternate);
    else if (binary.has(node.op)) meterOperator(node);
    else if (node.op === "call" || node.op === "rcall") meterCall(node);
  }
}

/** Macros of ours may loop as well; they pay by themselves, and what is in them pays here. */
const isLoop = ({ meta }: CheckedNode): boolean => meta.alternate?.op === "comprehension" || meta.macro !== undefined;

const binary = new Set(["==", "!=", "in", "+", "<", "<=", ">", ">="]);

/** Comparing and joining look at all of both sides. */
function meterOperator(node: CheckedNode): void {
  const { handle } = node;
  if (handle === undefined) return;
  node.handle = (left, right, ...rest) => {
    spend(1 + weightOf(left) + weightOf(right));
    return handle(left, right, ...rest);
  };
}

function meterCall(node: CheckedNode): void {
  const { handle } = node;
  if (handle === undefined) return;
  node.handle = (values, ...rest) => {
    spend(2);
    for (const value of values as unknown[]) spend(weightOf(value));
    return handle(values, ...rest);
  };
}

/** Each round costs as much as the body has parts; loops in the body pay for themselves on top. */
function meterLoop(node: CheckedNode, loop: CheckedNode): void {
  const { step } = loop.args as Comprehension;
  const cost = count((node.args as unknown[])[2]);
  const { evaluate } = step.meta;
  step.setMeta("evaluate", (evaluator, self, scope) => {
    spend(cost);
    return evaluate(evaluator, self, scope);
  });
  const { handle } = loop;
  if (handle === undefined) return;
  loop.handle = (items, ...rest) => {
    // Of a map, the keys are listed first.
    spend(Array.isArray(items) ? 1 : weightOf(items));
    return handle(items, ...rest);
  };
}

function count(node: unknown): number {
  if (Array.isArray(node)) return node.reduce((sum: number, child) => sum + count(child), 0);
  return isNode(node) ? 1 + count(node.args) : 0;
}

function collect(node: unknown, into: CheckedNode[]): void {
  if (Array.isArray(node)) for (const child of node) collect(child, into);
  else if (isNode(node)) {
    into.push(node);
    collect(node.args, into);
  }
}

function isNode(value: unknown): value is CheckedNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}

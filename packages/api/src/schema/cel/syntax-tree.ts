import type { ASTNode } from "@marcbachmann/cel-js";

/** A node of an expression and all its descendants, parents first. */
export function* nodesOf(node: unknown): Generator<ASTNode> {
  if (Array.isArray(node)) {
    for (const child of node) yield* nodesOf(child);
  } else if (isNode(node)) {
    yield node;
    yield* nodesOf(node.args);
  }
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}

import type { ASTNode } from "@marcbachmann/cel-js";
import { nodesOf } from "../syntax-tree.ts";
import type { CheckedNode } from "./macro-parts.ts";

type Entry = readonly [CheckedNode, CheckedNode];

/** Evaluates map literals whose keys are numbers or booleans to a `Map`. The library builds objects, which turns keys into strings. */
export function useMaps(root: ASTNode): void {
  for (const node of nodesOf(root) as Iterable<CheckedNode>) {
    if (node.op !== "map") continue;
    const entries = node.args as unknown as readonly Entry[];
    if (entries.every(([key]) => key.checkedType?.name === "string" || key.checkedType?.kind === "dyn")) continue;
    node.setMeta("evaluate", (evaluator, _, scope) => {
      const made = new Map<unknown, unknown>();
      for (const [key, value] of entries) made.set(evaluator.run(key, scope), evaluator.run(value, scope));
      return made;
    });
  }
}

import { type ASTNode, Optional } from "@marcbachmann/cel-js";
import type { Checker, Evaluator, Scope } from "./macro-parts.ts";

interface Select {
  readonly op: string;
  readonly args: readonly [ASTNode, string];
}

/**
 * `has(e.f)` for any `e`, as in CEL: the library takes fields of variables alone, and does not look whether a type has the
 * field.
 */
export function useOwnHas(node: ASTNode): void {
  const [select] = (node.args as unknown as [string, ASTNode[]])[1] as unknown as readonly [Select | undefined];
  const macro = {
    async: false,
    typeCheck(checker: Checker, _: unknown, scope: Scope): unknown {
      if (select?.op !== "." && select?.op !== ".?") {
        throw checker.createError("invalid_macro_argument", "invalid argument to has() macro", node);
      }
      checker.check(select as unknown as ASTNode, scope);
      return checker.getType("bool");
    },
    evaluate(evaluator: Evaluator, _: unknown, scope: Scope): boolean {
      const [of, name] = (select as Select).args;
      return hasField(evaluator.run(of, scope), name);
    },
  };
  (node as unknown as { setMeta(key: "macro", value: object): void }).setMeta("macro", macro);
}

function hasField(value: unknown, name: string): boolean {
  if (value instanceof Optional) return value.hasValue() && hasField(value.value(), name);
  if (value instanceof Map) return value.has(name);
  // What was stored before its schema may be anything; the check sees to what its schema says.
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
}

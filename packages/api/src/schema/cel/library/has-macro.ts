import { type ASTNode, Optional } from "@marcbachmann/cel-js";
import { type Checker, type Evaluator, ownMacro, type Scope } from "./macro-parts.ts";

interface Select {
  readonly op: string;
  readonly args: readonly [ASTNode, string];
}

/**
 * Implements `has(e.f)` for any expression `e`, as CEL defines it. The library accepts only fields of variables and does not
 * check that the type has the field.
 */
export function useOwnHas(node: ASTNode): void {
  const [select] = (node.args as unknown as [string, ASTNode[]])[1] as unknown as readonly [Select | undefined];
  const macro = ownMacro({
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
  });
  (node as unknown as { setMeta(key: "macro", value: object): void }).setMeta("macro", macro);
}

function hasField(value: unknown, name: string): boolean {
  if (value instanceof Optional) return value.hasValue() && hasField(value.value(), name);
  if (value instanceof Map) return value.has(name);
  // A stored object may be older than its schema and not match it, so any type is possible here.
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name);
}

import type { ASTNode } from "@marcbachmann/cel-js";

/** What the library hands to a macro: types and contexts are its own, and stay opaque. */
export interface CelType {
  readonly kind: string;
  readonly name: string;
  readonly hasPlaceholderType: boolean;
  readonly keyType?: CelType;
  readonly valueType?: CelType;
}

/** The variables at one place of an expression. */
export interface Scope {
  forkWithVariable(name: string, type: CelType): Scope;
  reuse(parent: Scope): Scope;
  setIterValue(value: unknown, evaluator: Evaluator): Scope;
}

export interface Checker {
  check(node: ASTNode, scope: Scope): CelType;
  getType(name: string): CelType;
  createError(code: string, message: string, node: ASTNode): Error;
}

export interface Evaluator {
  run(node: ASTNode, scope: Scope): unknown;
}

/** A node after its check. */
export type CheckedNode = ASTNode & {
  readonly checkedType?: CelType;
  setMeta(key: "evaluate", evaluate: (evaluator: Evaluator, node: unknown, scope: Scope) => unknown): void;
};

import type { ASTNode } from "@marcbachmann/cel-js";

/** A type of the library. */
export interface CelType {
  readonly kind: string;
  readonly name: string;
  readonly hasPlaceholderType: boolean;
  readonly keyType?: CelType;
  readonly valueType?: CelType;
}

/** The variables that are visible to a part of an expression. */
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

/** A node after the type check. */
export type CheckedNode = ASTNode & {
  readonly checkedType?: CelType;
  setMeta(key: "evaluate", evaluate: (evaluator: Evaluator, node: unknown, scope: Scope) => unknown): void;
};

const ownMacros = new WeakSet();

/** Marks a macro as ours: it charges the budget for its own work. The meter refuses all other macros. */
export function ownMacro<T extends object>(macro: T): T {
  ownMacros.add(macro);
  return macro;
}

export function isOwnMacro(macro: object): boolean {
  return ownMacros.has(macro);
}

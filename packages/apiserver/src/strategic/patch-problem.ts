import { plainText, typeName } from "../apply/go-format.ts";

/** Why a patch cannot be applied. Thrown inside this folder only. */
export class PatchProblem extends Error {
  /** 422 when the patch is well formed but asks for something unsupported. */
  readonly code: 400 | 422;

  constructor(message: string, code: 400 | 422 = 400) {
    super(message);
    this.code = code;
  }
}

export const badDirective = (directive: unknown, patch: unknown): PatchProblem =>
  new PatchProblem(`unknown patch type: ${plainText(directive)} in map: ${plainText(patch)}`);

export const noMergeKey = (item: unknown, mergeKey: string): PatchProblem =>
  new PatchProblem(`map: ${plainText(item)} does not contain declared merge key: ${mergeKey}`);

export const notList = (value: unknown): PatchProblem =>
  new PatchProblem(`expected a []interface {}, but received a ${typeName(value)}`);

export const notMap = (value: unknown): PatchProblem =>
  new PatchProblem(`expected a map[string]interface {}, but received a ${typeName(value)}`);

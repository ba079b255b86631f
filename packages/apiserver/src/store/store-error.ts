/** Why a store or a backup cannot be read. */
export type StoreProblem = "damaged" | "unreadable" | "foreign" | "otherVersion";

/** A file that is not a store or backup of this program. Nothing was changed. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly problem: StoreProblem;

  constructor(problem: StoreProblem, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.problem = problem;
  }
}

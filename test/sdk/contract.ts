import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One call of an SDK and what must come of it. Runners in every language read the same cases. */
export interface Case {
  readonly title: string;
  readonly call: string;
  /** `$sandbox` in a text is the name of the sandbox. */
  readonly with: object;
  /** Fields that the result must have. It may have others. */
  readonly result?: object;
  readonly error?: { readonly reason: string; readonly status?: number };
}

export interface Outcome {
  readonly result: unknown;
  readonly error: { readonly reason: string; readonly status?: number; readonly message: string } | undefined;
}

/** Runs cases with one SDK against one sandbox. */
export interface Runner extends AsyncDisposable {
  run(each: Case): Promise<Outcome>;
}

export const contract: readonly Case[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "contract.json"), "utf8"),
) as Case[];

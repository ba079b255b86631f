import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Outcome } from "../e2e/box.ts";

/** The module of the Go SDK. */
export const goModule: string = join(import.meta.dirname, "../../clients/go");

/** Runs the go command in the module. On a new machine it compiles client-go first, which takes minutes. */
export function runGo(...words: string[]): Promise<Outcome> {
  return runGoWith({}, ...words);
}

/** The same with more variables in the environment. */
export function runGoWith(environment: Readonly<Record<string, string>>, ...words: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    execFile("go", words, { cwd: goModule, env, encoding: "utf8", maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, stdout, stderr });
    });
  });
}

/** Longer than the first build takes on a busy machine. */
export const goBuildTimeoutMs = 900_000;

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Case, Outcome, Runner } from "./contract.ts";

/** Runs the cases of the contract with an SDK in another language: a program that reads cases and prints outcomes, one per line. */
export class ProcessRunner implements Runner {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  #complaints = "";

  constructor([command = "", ...words]: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(command, words, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#complaints += text));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async run(each: Case): Promise<Outcome> {
    this.#child.stdin.write(`${JSON.stringify(each)}\n`);
    const next = await this.#lines.next();
    if (next.done === true) throw new Error(`The runner has ended: ${this.#complaints}`);
    const { result, error } = JSON.parse(next.value) as Partial<Outcome>;
    return { result, error };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
  }
}

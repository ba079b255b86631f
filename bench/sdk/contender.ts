/** A program that measures one SDK: this process for TypeScript, child processes for the others. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Sandboxes are created from the pool of the benchmark. */
export type Order =
  /** Creates a sandbox, runs `echo ready` in it and deletes it. `ready_ms`: until it could be used; `ms`: until the output was there. */
  | { readonly do: "first" }
  /** Attaches to the sandbox of a claim, for the orders below. */
  | { readonly do: "open"; readonly sandbox: string }
  /** Runs `true`. */
  | { readonly do: "exec" }
  /** Runs commands at once. */
  | { readonly do: "parallel"; readonly count: number }
  | { readonly do: "write" | "read"; readonly path: string; readonly bytes: number };

export interface Measured {
  readonly ms: number;
  readonly ready_ms?: number;
  readonly failures?: number;
}

export interface Contender extends AsyncDisposable {
  measure(order: Order): Promise<Measured>;
}

/** A program that reads orders and prints measurements, one JSON object per line. */
export class ProcessContender implements Contender {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  /** `env` is added to the environment of this process. */
  constructor([program = "", ...words]: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async measure(order: Order): Promise<Measured> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`Cannot measure "${order.do}": the program has ended`);
    return JSON.parse(value) as Measured;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
  }
}

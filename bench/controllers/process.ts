import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Server } from "../api/task.ts";

/**
 * What a process of the benchmark runs:
 * - `box`: the embedded API server and the controllers, as in the box; `server`: that API server alone.
 * - `controllers`: the controllers alone, over HTTPS, as in a cluster.
 * - `objects`: no controllers; it holds the objects of their caches, for comparison.
 */
export type Arm =
  | { readonly run: "box" | "server"; readonly dataDir: string }
  | { readonly run: "controllers" | "objects"; readonly server: Server };

export interface Write {
  /** Such as `PATCH sandboxclaims/status`. */
  readonly what: string;
  /** The name of the object; empty if the server chooses it. */
  readonly name: string;
  /** In milliseconds, by the clock of that process. */
  readonly at: number;
  /** Absent while the answer has not arrived. */
  readonly answeredAt?: number;
}

/** What the controllers did since the last question, and their memory now. */
export interface Happened {
  /** The address of the API server, if the process has one. */
  readonly server?: Server;
  /** From the start of the controllers until their queues were empty. */
  readonly settledMs: number;
  readonly writes: readonly Write[];
  readonly passes: Readonly<Record<"sandbox" | "sandboxclaim" | "sandboxwarmpool" | "sandboxtemplate", number>>;
  /** After a garbage collection; only in the answer to "memory". */
  readonly heldBytes?: number;
  /** CPU time since the last question. */
  readonly cpuMs: number;
}

/** Runs the controllers in a separate process, so that their CPU time and memory can be measured. */
export class ControllersProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  /** Until the queues were empty. */
  readonly start: Happened;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, start: Happened) {
    this.#child = child;
    this.#lines = lines;
    this.start = start;
  }

  static async start(arm: Arm): Promise<ControllersProcess> {
    // The launcher uses the same memory flags.
    const memory = ["--min-semi-space-size=16", "--max-semi-space-size=32"];
    const flags = ["--conditions=source", "--expose-gc", ...memory, "--disable-warning=ExperimentalWarning"];
    const script = join(import.meta.dirname, "arm.ts");
    const child = spawn(process.execPath, [...flags, script, JSON.stringify(arm)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return new ControllersProcess(child, lines, await answer(lines));
  }

  async ask(question: "" | "memory" = ""): Promise<Happened> {
    this.#child.stdin?.write(`${question}\n`);
    return answer(this.#lines);
  }

  async heldBytes(): Promise<number> {
    return (await this.ask("memory")).heldBytes ?? Number.NaN;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
  }
}

async function answer(lines: AsyncIterator<string>): Promise<Happened> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error("Cannot measure: the controllers' process ended");
  return JSON.parse(value) as Happened;
}

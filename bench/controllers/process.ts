import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Server } from "../api/task.ts";

/**
 * What a process of the benchmark runs:
 * - `box`: the embedded API server and the controllers in one process, as the box has them; `server`: that server alone.
 * - `controllers`: the controllers alone, over HTTPS, as a cluster has them.
 * - `objects`: nothing; it holds what the controllers' caches would hold, for comparison.
 */
export type Arm =
  | { readonly run: "box" | "server"; readonly dataDir: string }
  | { readonly run: "controllers" | "objects"; readonly server: Server };

export interface Write {
  /** Such as `PATCH sandboxclaims/status`. */
  readonly what: string;
  /** Of the object; empty when the server chooses it. */
  readonly name: string;
  /** Milliseconds of the process's own clock. */
  readonly at: number;
}

/** What the controllers did since they were asked last, and what they hold now. */
export interface Happened {
  /** Where the process serves, if it does. */
  readonly server?: Server;
  /** From the start of the controllers until nothing was left to look at. */
  readonly settledMs: number;
  readonly writes: readonly Write[];
  readonly passes: Readonly<Record<"sandbox" | "sandboxclaim" | "sandboxwarmpool" | "sandboxtemplate", number>>;
  /** After a collection; told when memory is asked for. */
  readonly heldBytes?: number;
  /** Processor time since the last question. */
  readonly cpuMs: number;
}

/** The controllers in a process of their own, so that what they take is theirs alone. */
export class ControllersProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  /** Up to the moment when nothing was left to look at. */
  readonly start: Happened;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, start: Happened) {
    this.#child = child;
    this.#lines = lines;
    this.start = start;
  }

  static async start(arm: Arm): Promise<ControllersProcess> {
    // The memory flags are the launcher's.
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

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const main = join(import.meta.dirname, "../packages/cli/src/main.ts");
const nodeFlags = ["--conditions=source", "--disable-warning=ExperimentalWarning"];

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** `agent-sandbox <words>` as a process of its own, and what it logs. Killed when it is disposed. */
export class CliProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  /** Its exit code; undefined when a signal ended it. */
  readonly exited: Promise<number | undefined>;
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();

  constructor(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#name = words[0] ?? "agent-sandbox";
    this.#child = spawn(process.execPath, [...nodeFlags, main, ...words], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    this.exited = once(this.#child, "exit").then(([code]) => (typeof code === "number" ? code : undefined));
    const input = createInterface({ input: this.#child.stdout ?? process.stdin });
    input.on("line", (line) => {
      this.lines.push(JSON.parse(line) as LogLine);
      this.#look();
    });
    input.on("close", () => this.#look());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The line with this message, once there is one. Rejects when the process has ended without. */
  async said(message: string): Promise<LogLine> {
    const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
    const look = (): void => {
      const found = this.lines.find(({ msg }) => msg === message);
      if (found !== undefined) resolve(found);
      else if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        const said = JSON.stringify(this.lines.slice(-10));
        reject(new Error(`the ${this.#name} ended before it said "${message}": ${said}`));
      }
    };
    this.#waiting.add(look);
    void this.exited.then(look);
    look();
    try {
      return await promise;
    } finally {
      this.#waiting.delete(look);
    }
  }

  /** Asks it to stop, and waits for its end. */
  async stop(): Promise<number | undefined> {
    this.#child.kill("SIGTERM");
    return this.exited;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}

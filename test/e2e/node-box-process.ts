import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, on, once } from "node:events";
import { createInterface } from "node:readline";

const program = `${import.meta.dirname}/../../dist/agent-sandbox`;

/** A process of `agent-sandbox up --foreground` that can be killed at any moment. */
export class BoxProcess {
  /** Resolves when the box is ready, and rejects if it ends before. */
  readonly serving: Promise<void>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** The end of its output, for the error message. */
  #said: string[] = [];
  readonly #lines = new EventEmitter();

  constructor(dataDir: string, listen: string) {
    const addresses = ["--listen", listen, "--router-listen", "127.0.0.1:0"];
    this.#child = spawn(
      program,
      ["--data-dir", dataDir, "up", "--foreground", ...addresses, "--allow-runtime", "runc"],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#ended = once(this.#child, "exit");
    this.serving = this.#readLog();
    // Most boxes are killed before they are ready.
    this.serving.catch(() => undefined);
  }

  /** Waits for a line of the log that matches, or until the signal is aborted. */
  async logs(pattern: RegExp, signal: AbortSignal): Promise<void> {
    try {
      for await (const [line] of on(this.#lines, "line", { signal })) if (pattern.test(String(line))) return;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Stops the box and waits until it has ended. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }

  async #readLog(): Promise<void> {
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("the box has no outputs");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    for (const input of [stdout, stderr]) {
      createInterface({ input }).on("line", (line) => {
        this.#said = [...this.#said.slice(-20), line];
        this.#lines.emit("line", line);
        if (line.includes('"box started"')) resolve();
      });
    }
    this.#child.once("close", (code) => reject(new Error(`The box ended with ${code}:\n${this.#said.join("\n")}`)));
    return promise;
  }
}

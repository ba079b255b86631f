import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const program = `${import.meta.dirname}/../../dist/agent-sandbox`;

/** `agent-sandbox up --foreground` as a process that can be killed at any moment of its life. */
export class BoxProcess {
  /** Settles when it serves; refused when it ends before that. */
  readonly serving: Promise<void>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** The end of what it said, for whoever wants to know why it did not start. */
  #said: string[] = [];

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
    // Most are killed before they serve.
    this.serving.catch(() => undefined);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Asks it to stop and waits until it has. */
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
        if (line.includes('"box started"')) resolve();
      });
    }
    this.#child.once("close", (code) => reject(new Error(`The box ended with ${code}:\n${this.#said.join("\n")}`)));
    return promise;
  }
}

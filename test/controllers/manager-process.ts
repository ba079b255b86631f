import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");

/** No port is fixed, and the lease is where the test's objects are. */
const quietFlags = [
  "--extensions",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--webhook-port=0",
  "--leader-election-namespace=default",
];

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** `agent-sandbox manager` as a process of its own. */
export class ManagerProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  readonly exited: Promise<number | undefined>;
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();

  constructor(kubeconfig: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    const node = ["--conditions=source", "--disable-warning=ExperimentalWarning"];
    this.#child = spawn(process.execPath, [...node, main, "manager", ...quietFlags, ...flags], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env, KUBECONFIG: kubeconfig },
    });
    this.exited = once(this.#child, "exit").then(([code]) => (typeof code === "number" ? code : undefined));
    const input = createInterface({ input: this.#child.stdout ?? process.stdin });
    input.on("line", (line) => {
      this.lines.push(JSON.parse(line) as LogLine);
      for (const look of this.#waiting) look();
    });
    input.on("close", () => {
      for (const look of this.#waiting) look();
    });
  }

  /** The line with this message, once there is one. Rejects when the process has ended without. */
  async said(message: string): Promise<LogLine> {
    const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
    const look = (): void => {
      const found = this.lines.find(({ msg }) => msg === message);
      if (found !== undefined) resolve(found);
      else if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        reject(new Error(`the manager ended before it said "${message}"`));
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
}

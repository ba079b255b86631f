import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");

interface Started {
  readonly url: string;
  readonly metricsAddress: { readonly port: number };
  readonly probesAddress: { readonly port: number };
}

/** `agent-sandbox router` as a process of its own, on ports that were free. */
export class RouterProcess implements AsyncDisposable {
  /** What it has logged so far, without the requests. */
  readonly lines: { readonly msg: string; readonly level: number }[] = [];
  readonly exited: Promise<number | undefined>;
  readonly started: Promise<Started>;
  readonly #child: ChildProcess;

  constructor(flags: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const node = ["--conditions=source", "--disable-warning=ExperimentalWarning"];
    const addresses = ["http", "metrics", "health-probe"].map((name) => `--${name}-bind-address=127.0.0.1:0`);
    this.#child = spawn(process.execPath, [...node, main, "router", ...flags, ...addresses, "--access-log=false"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, KUBECONFIG: "", ...env },
    });
    const { promise, resolve, reject } = Promise.withResolvers<Started>();
    this.started = promise;
    this.exited = once(this.#child, "exit").then(([code]) => (typeof code === "number" ? code : undefined));
    createInterface({ input: this.#child.stdout ?? process.stdin }).on("line", (text) => {
      const line = JSON.parse(text) as Started & { msg: string; level: number };
      this.lines.push(line);
      if (line.msg === "router started") resolve(line);
    });
    void this.exited.then((code) => reject(new Error(`the router ended with ${code}: ${JSON.stringify(this.lines)}`)));
    // Whoever waits for it hears of it.
    promise.catch(() => undefined);
  }

  /** Asks it to stop; `exited` tells when it has. */
  terminate(): void {
    this.#child.kill("SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

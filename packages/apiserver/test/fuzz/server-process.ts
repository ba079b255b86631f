import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface ServerReport {
  /** The longest CPU time of one turn of the event loop since the last report. */
  readonly longestTurnMs: number;
  /** The heap in use after a garbage collection. */
  readonly heapBytes: number;
}

export interface ServerAddress {
  readonly port: number;
  readonly authority: string;
  readonly token: string;
}

interface Message {
  readonly listening?: ServerAddress;
  readonly report?: ServerReport;
  readonly problem?: string;
}

/** Long enough for a busy machine. */
const timeoutMs = 30_000;

/** The parent's view of the fuzzed server. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly address: ServerAddress;
  /** Errors that the server logged. */
  readonly problems: string[] = [];
  /** How the process ended, if it did. */
  ended: string | undefined;
  #reported: (report: ServerReport | undefined) => void = () => undefined;

  private constructor(child: ChildProcess, address: ServerAddress) {
    this.#child = child;
    this.address = address;
    child.on("message", ({ problem, report }: Message) => {
      if (problem !== undefined) this.problems.push(problem);
      if (report !== undefined) this.#reported(report);
    });
    child.once("exit", (code, signal) => {
      this.ended = `code ${code}, signal ${signal}`;
      this.#reported(undefined);
    });
  }

  static async start(dataDir: string): Promise<ServerProcess> {
    const script = fileURLToPath(new URL("fuzz-server.ts", import.meta.url));
    const child = fork(script, [dataDir], {
      execArgv: ["--conditions=source", "--expose-gc", "--disable-warning=ExperimentalWarning"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [message] = (await Promise.race([once(child, "message"), once(child, "exit")])) as [Message | number | null];
    const listening = typeof message === "object" ? message?.listening : undefined;
    if (listening === undefined) throw new Error("Cannot fuzz: the server did not report its address");
    return new ServerProcess(child, listening);
  }

  /** The measurements since the last report, or `undefined` when the server has ended or does not respond. */
  async report(): Promise<ServerReport | undefined> {
    if (this.ended !== undefined) return undefined;
    const reported = new Promise<ServerReport | undefined>((resolve) => {
      this.#reported = resolve;
      setTimeout(resolve, timeoutMs, undefined).unref();
    });
    this.#child.send("report");
    return reported;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended !== undefined) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

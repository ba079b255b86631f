import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** A shell command in a terminal of its own, typed to and read as a user does. Disposing closes the terminal. */
export class Terminal implements Disposable {
  readonly #script: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<readonly [number | null]>;
  #shown = "";

  constructor(command: string) {
    this.#script = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], { cwd: root });
    this.#script.stdin.on("error", () => undefined);
    this.#script.stdout.setEncoding("utf8").on("data", (text: string) => (this.#shown += text));
    this.#exit = once(this.#script, "exit") as Promise<[number | null]>;
  }

  /** Everything that was printed, with the line ends of a terminal. */
  readonly shown = (): string => this.#shown;

  type(text: string): void {
    this.#script.stdin.write(text);
  }

  /** Waits for the end of the command, and returns its status. */
  async status(): Promise<number | null> {
    const [code] = await this.#exit;
    return code;
  }

  /** As a window that is closed: the kernel sends SIGHUP to the processes of the terminal. */
  [Symbol.dispose](): void {
    this.#script.kill("SIGKILL");
  }
}

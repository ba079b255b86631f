import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The process of `server.ts`. Commands are answered one after another. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    [this.#child, this.#lines] = [child, lines];
  }

  static async start(folder: string, page: string, count: number): Promise<ServerProcess> {
    const flags = ["--conditions=source", "--disable-warning=ExperimentalWarning"];
    const script = join(import.meta.dirname, "server.ts");
    const child = spawn(process.execPath, [...flags, script, folder, page, String(count)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const server = new ServerProcess(child, lines);
    await server.#next();
    return server;
  }

  /** A login link. */
  login(): Promise<string> {
    return this.#ask("login");
  }

  /** Begins to update objects. Zero stops it. */
  async update(perSecond: number): Promise<void> {
    await this.#ask(`rate ${perSecond}`);
  }

  /** Updates objects, and replaces some by new ones. Resolves when the server has written all. */
  async step(updates: number): Promise<void> {
    await this.#ask(`step ${updates}`);
  }

  #ask(line: string): Promise<string> {
    this.#child.stdin?.write(`${line}\n`);
    return this.#next();
  }

  async #next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("Cannot measure: the server ended");
    return value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
  }
}

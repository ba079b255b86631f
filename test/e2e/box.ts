import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const root = `${import.meta.dirname}/../..`;

/** Builds the command line if a source has changed, so that the tests use what users use. Safe in several processes. */
export function buildCommandLine(): void {
  mkdirSync(`${root}/.cache`, { recursive: true });
  const build = ["node", "--conditions=source", "scripts/build.ts", "--if-changed"];
  const built = spawnSync("flock", [`${root}/.cache/build.lock`, ...build], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`Cannot build the command line: ${built.stderr}`);
}

/** Why the box cannot run on this machine, or undefined. */
export function whyNoBox(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, to make network namespaces and containers";
  const missing = ["conmon", "ip", "nft"].filter((tool) => spawnSync("which", [tool]).status !== 0);
  return missing.length > 0 ? `needs ${missing.join(", ")} on the PATH` : undefined;
}

/** A box with its own data folder, used through the command line. */
export class Box implements AsyncDisposable {
  readonly dataDir: string;
  /** The address of its API server. */
  readonly listen: string;

  private constructor(port: number, parent: string) {
    this.listen = `127.0.0.1:${port}`;
    this.dataDir = mkdtempSync(join(parent, "agent-sandbox-e2e-"));
  }

  /** Its data folder is in `parent`. */
  static async make(parent: string = tmpdir()): Promise<Box> {
    return new Box(await freePort(), parent);
  }

  get kubeconfig(): string {
    return join(this.dataDir, "kubeconfig");
  }

  up(...more: string[]): Promise<Outcome> {
    const listen = ["--listen", this.listen, "--router-listen", "127.0.0.1:0"];
    return this.run("up", ...listen, "--allow-runtime", "runc", ...more);
  }

  pid(): number {
    return (JSON.parse(readFileSync(join(this.dataDir, "box.json"), "utf8")) as { pid: number }).pid;
  }

  run(...words: string[]): Promise<Outcome> {
    return this.runWith("", ...words);
  }

  runWith(stdin: string, ...words: string[]): Promise<Outcome> {
    return execute(`${root}/dist/agent-sandbox`, ["--data-dir", this.dataDir, ...words], stdin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run("down", "--purge");
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** Longer than the timeout of any command, so that the command itself reports what is missing. */
const patienceMs = 90_000;

export function execute(file: string, words: readonly string[], stdin: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      file,
      words,
      { cwd: root, timeout: patienceMs, encoding: "utf8" },
      (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error ? -1 : 0;
        resolve({ code, stdout, stderr });
      },
    );
    child.stdin?.on("error", () => undefined).end(stdin);
  });
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runGo } from "./go-module.ts";
import { ProcessRunner } from "./process-runner.ts";

/** Runs the cases of the contract with the Go SDK. */
export class GoRunner extends ProcessRunner {
  readonly #folder: string;

  private constructor(folder: string, program: string, ...words: string[]) {
    super([program, ...words]);
    this.#folder = folder;
  }

  /** Builds the program in a folder of its own, because two test files may build it at the same time. */
  static async open(dataDir: string, sandbox: string): Promise<GoRunner> {
    const folder = mkdtempSync(join(tmpdir(), "sdk-contract-go-"));
    const program = join(folder, "contract");
    const { code, stderr } = await runGo("build", "-o", program, "./internal/contract");
    if (code === 0) return new GoRunner(folder, program, dataDir, sandbox);
    rmSync(folder, { recursive: true });
    throw new Error(stderr);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true });
  }
}

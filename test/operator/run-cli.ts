import { execFile } from "node:child_process";
import { join } from "node:path";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `agent-sandbox <words>`. Does not throw when it fails. */
export function runCli(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", main, ...words];
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 64 << 20 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

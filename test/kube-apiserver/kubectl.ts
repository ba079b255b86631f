import { execFile } from "node:child_process";

export interface Outcome {
  /** The exit code, or -1 if it was killed. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlRun {
  readonly binary: string;
  readonly kubeconfig: string;
  /** The home folder for its caches and preferences, instead of that of the user. */
  readonly home: string;
  readonly stdin: string;
}

/** Limited to two minutes and 64 MiB of output. */
export function runKubectl(
  words: readonly string[],
  { binary, kubeconfig, home, stdin }: KubectlRun,
): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig };
  return new Promise((resolve) => {
    const limits = { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(binary, words, { ...limits, env, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
    // The command may exit without reading its input.
    child.stdin?.on("error", () => undefined).end(stdin);
  });
}

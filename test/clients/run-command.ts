import { execFile } from "node:child_process";

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the command. */
  readonly signal?: AbortSignal;
}

export interface Ended {
  /** 127 for a missing command, as in a shell. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** More than any suite prints. */
const maxBuffer = 64 << 20;

/** Runs a command to its end. Rejects only when it was killed. */
export function runCommand(
  file: string,
  args: readonly string[],
  { cwd, env, signal }: CommandOptions = {},
): Promise<Ended> {
  const options = { cwd, signal, maxBuffer, env: { ...process.env, ...env } };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else if (error.code === "ENOENT") resolve({ code: 127, stdout, stderr: `${file} is not installed` });
      else reject(error);
    });
  });
}

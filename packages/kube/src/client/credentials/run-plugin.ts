import { spawn } from "node:child_process";

export interface PluginCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
}

/** A credential is a few KiB; a plugin that prints more prints something else. */
const mostOutputBytes = 1 << 20;
/** Enough of its complaints to see what is wrong. */
const shownErrorBytes = 2048;

export type PluginResult = { readonly output: string } | { readonly error: string };

/** Runs a credential plugin to its end, within bounds of time and output; it and its children are killed beyond them. */
export function runPlugin({ command, args, env, timeoutMs }: PluginCommand): Promise<PluginResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let complaints = "";
    let killedBecause: string | undefined;

    const kill = (because: string): void => {
      killedBecause ??= because;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended by itself meanwhile.
      }
      // What it left running in a session of its own may hold these open for ever.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const timer = setTimeout(() => kill(`it did not end within ${timeoutMs} ms`), timeoutMs);

    child.stdout.on("data", (chunk: Buffer) => {
      output.push(chunk);
      outputBytes += chunk.length;
      if (outputBytes > mostOutputBytes) kill(`it printed more than ${mostOutputBytes} bytes`);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      complaints = (complaints + chunk.toString("utf8")).slice(-shownErrorBytes);
    });
    const finish = (state: string | undefined): void => {
      clearTimeout(timer);
      const told = complaints.trim();
      if (state === undefined) resolve({ output: Buffer.concat(output).toString("utf8") });
      else resolve({ error: told === "" ? state : `${state}; it said: ${told}` });
    };
    child.on("error", (error: NodeJS.ErrnoException) =>
      finish(error.code === "ENOENT" ? "there is no such command" : error.message),
    );
    child.on("close", (code, signal) => {
      if (killedBecause !== undefined) finish(killedBecause);
      else finish(code === 0 ? undefined : `it ended with ${signal ?? `exit code ${code}`}`);
    });
  });
}

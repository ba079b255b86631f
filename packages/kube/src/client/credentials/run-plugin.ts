export interface PluginCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
}

/** Credentials have a few KiB; more output is not a credential. */
const mostOutputBytes = 1 << 20;
/** How much of stderr is included in the error. */
const shownErrorBytes = 2048;

export type PluginResult = { readonly output: string } | { readonly error: string };

/** Runs a credential plugin. The plugin and its child processes are killed when it exceeds its time or output limit. */
export function runPlugin({ command, args, env, timeoutMs }: PluginCommand): Promise<PluginResult> {
  // Few kubeconfigs have a plugin: an import would slow down each command.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let errorOutput = "";
    let killedBecause: string | undefined;

    const kill = (because: string): void => {
      killedBecause ??= because;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The process has already ended.
      }
      // A process in another session may keep these open forever.
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
      errorOutput = (errorOutput + chunk.toString("utf8")).slice(-shownErrorBytes);
    });
    const finish = (state: string | undefined): void => {
      clearTimeout(timer);
      const shown = errorOutput.trim();
      if (state === undefined) resolve({ output: Buffer.concat(output).toString("utf8") });
      else resolve({ error: shown === "" ? state : `${state}; it printed to stderr: ${shown}` });
    };
    child.on("error", (error: NodeJS.ErrnoException) =>
      finish(error.code === "ENOENT" ? "command not found" : error.message),
    );
    child.on("close", (code, signal) => {
      if (killedBecause !== undefined) finish(killedBecause);
      else finish(code === 0 ? undefined : `it ended with ${signal ?? `exit code ${code}`}`);
    });
  });
}

import { type CommandResult, runCommand, tryCommand } from "../system/run-command.ts";

/** Runs commands of `ip` one after the other, in one process; the first that fails is the last. */
export async function runIp(options: readonly string[], lines: readonly string[]): Promise<void> {
  await runCommand("ip", [...options, "-batch", "-"], { input: batch(lines) });
}

/** Runs all of them, whatever becomes of those before. */
export async function tryIp(lines: readonly string[]): Promise<CommandResult> {
  return await tryCommand("ip", ["-force", "-batch", "-"], { input: batch(lines) });
}

function batch(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

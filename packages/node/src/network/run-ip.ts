import { type CommandResult, runCommand, tryCommand } from "../system/run-command.ts";

/**
 * Runs commands of `ip` one after the other, in one process; the first that fails is the last. In a network namespace by
 * `nsenter`: `ip` itself would copy all mounts of the machine first, and hold up whoever mounts something.
 */
export async function runIp(lines: readonly string[], netns?: string): Promise<void> {
  const within = netns === undefined ? [] : ["nsenter", `--net=/run/netns/${netns}`];
  const [program, ...args] = [...within, "ip", "-batch", "-"];
  await runCommand(program, args, { input: batch(lines) });
}

/** Runs all of them, whatever becomes of those before. */
export async function tryIp(lines: readonly string[]): Promise<CommandResult> {
  return await tryCommand("ip", ["-force", "-batch", "-"], { input: batch(lines) });
}

function batch(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

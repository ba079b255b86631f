import { type CommandResult, runCommand, tryCommand } from "../system/run-command.ts";

/**
 * Runs `ip` commands in one process and stops at the first that fails. Enters a network namespace with `nsenter`, because
 * `ip netns exec` would copy all mounts of the machine first, which blocks other mounts.
 */
export async function runIp(lines: readonly string[], netns?: string): Promise<void> {
  const within = netns === undefined ? [] : ["nsenter", `--net=/run/netns/${netns}`];
  const [program, ...args] = [...within, "ip", "-batch", "-"];
  await runCommand(program, args, { input: batch(lines) });
}

/** Runs all commands, even if some fail. */
export async function tryIp(lines: readonly string[]): Promise<CommandResult> {
  return await tryCommand("ip", ["-force", "-batch", "-"], { input: batch(lines) });
}

function batch(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { runtimeMessage } from "../runtime/runtime-message.ts";
import { watchFolder } from "../system/watch-folder.ts";
import type { AttachedProcess } from "./exec-process.ts";

/**
 * Waits until the runtime has started the command, which it signals by a pid file, or has failed. Returns the runtime's error
 * message, or undefined if the command was started. Does not read the output of a started command.
 */
export async function startFailure(attached: AttachedProcess, pidFile: string): Promise<string | undefined> {
  const { promise: appeared, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (existsSync(pidFile)) resolve();
  };
  using _watch = watchFolder(dirname(pidFile), look);
  look();
  await Promise.race([appeared, attached.ended]);
  if (existsSync(pidFile)) return undefined;
  const printed = await Promise.all([text(attached.stdout), text(attached.stderr)]);
  return runtimeMessage(printed.join("")) || "the runtime gave no reason";
}

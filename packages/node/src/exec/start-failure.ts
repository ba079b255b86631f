import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { runtimeMessage } from "../runtime/runtime-message.ts";
import { watchFolder } from "../system/watch-folder.ts";
import type { AttachedProcess } from "./exec-process.ts";

/**
 * Waits until the runtime has started the command, which it tells by a file, or has given up. What it says then is the
 * answer; undefined when the command runs or ran. Nothing of the command's own output is read.
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
  const said = await Promise.all([text(attached.stdout), text(attached.stderr)]);
  return runtimeMessage(said.join("")) || "the runtime gave no reason";
}

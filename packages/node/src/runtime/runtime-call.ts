import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, NodeError } from "../errors.ts";
import { type CommandOptions, tryCommand } from "../system/run-command.ts";
import type { RuntimeCommand } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";

export const isGone: RegExp =
  /does not exist|not running|already finished|no such process|connection refused|process not found/i;
export const alreadyRuns: RegExp = /already running/i;

/** Calls one verb of a runtime. An error message that matches `unless` is ignored: the wanted state already holds. */
export async function callRuntime(
  { program, args: globalArgs }: RuntimeCommand,
  [verb = "", ...args]: readonly string[],
  unless: RegExp,
  options: CommandOptions = {},
): Promise<void> {
  const result = await tryCommand(program, [...globalArgs, verb, ...args], options);
  if (result.code === 0 || unless.test(result.stderr)) return;
  throw new NodeError(
    "RunContainerError",
    `Cannot ${verb} container "${args.join(" ")}": ${runtimeMessage(result.stderr)}`,
  );
}

/** A killed process stays in its cgroup for a moment. */
const isBusy = /device or resource busy/i;
const betweenTriesMs = 50;
const mostTries = 40;

/** Kills a container if it runs, and deletes it. */
export async function deleteContainer(command: RuntimeCommand, id: string): Promise<void> {
  for (let left = mostTries; ; left--) {
    try {
      return await callRuntime(command, ["delete", "--force", id], isGone);
    } catch (error) {
      if (left === 0 || !isBusy.test(messageOf(error))) throw error;
      await sleep(betweenTriesMs);
    }
  }
}

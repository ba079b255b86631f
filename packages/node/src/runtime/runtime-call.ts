import { NodeError } from "../errors.ts";
import { tryCommand } from "../system/run-command.ts";
import type { RuntimeCommand } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";

export const isGone: RegExp =
  /does not exist|not running|already finished|no such process|connection refused|process not found/i;
export const alreadyRuns: RegExp = /already running/i;

/** Calls one verb of a runtime. A failure whose words match `unless` is none: what was asked for is already so. */
export async function callRuntime(
  { program, args: globalArgs }: RuntimeCommand,
  [verb = "", ...args]: readonly string[],
  unless: RegExp,
): Promise<void> {
  const result = await tryCommand(program, [...globalArgs, verb, ...args]);
  if (result.code === 0 || unless.test(result.stderr)) return;
  throw new NodeError(
    "RunContainerError",
    `Cannot ${verb} container "${args.join(" ")}": ${runtimeMessage(result.stderr)}`,
  );
}

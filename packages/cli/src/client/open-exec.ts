import { describeTrouble } from "@agent-sandbox/api";
import type { WebSocket } from "ws";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { execProtocol, startFailureCode } from "./exec-channel.ts";
import { openSocket } from "./pod-socket.ts";
import { podTrouble } from "./pod-trouble.ts";
import { podPath, type SandboxPod, sessionError } from "./sandbox-pod.ts";

export interface ExecSettings {
  readonly words: readonly string[];
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string | undefined;
}

/** Starts a command in a Pod. `runExec` copies its streams. */
export async function openExec(
  connection: Connection,
  pod: SandboxPod,
  { words, stdin = false, tty = false, container }: ExecSettings,
): Promise<WebSocket> {
  const { access, namespace } = connection;
  // A terminal has only one stream of output.
  const query = new URLSearchParams({ stdout: "true", stderr: String(!tty), stdin: String(stdin), tty: String(tty) });
  if (container !== undefined) query.set("container", container);
  for (const word of words) query.append("command", word);
  const path = `${podPath(namespace, pod.name, "exec")}?${query.toString()}`;
  return openSocket(access, path, execProtocol).catch(async (error: unknown) => {
    throw sessionError(await explained(connection, pod, error), pod);
  });
}

/** Says why the container does not run, if that is the problem. Otherwise the exit code tells whether the program exists. */
async function explained(
  connection: Connection,
  { name, sandbox = name }: SandboxPod,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof CommandError)) return error;
  if (!/container not (running|found)/.test(error.message))
    return new CommandError(error.message, { cause: error, exitCode: startFailureCode(error.message) });
  const trouble = await podTrouble(connection, sandbox);
  const why = trouble === undefined ? "its container does not run" : describeTrouble(trouble);
  return new CommandError(`sandbox "${sandbox}" cannot run commands: ${why}`, { cause: error });
}

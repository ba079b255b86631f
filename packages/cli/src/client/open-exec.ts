import type { WebSocket } from "ws";
import type { Connection } from "./connect.ts";
import { execProtocol } from "./exec-channel.ts";
import { openSocket } from "./pod-socket.ts";
import { podPath, type SandboxPod, sessionError } from "./sandbox-pod.ts";

export interface ExecSettings {
  readonly words: readonly string[];
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly container?: string | undefined;
}

/** Starts a command in a Pod. `runExec` copies its streams. */
export async function openExec(
  { access, namespace }: Connection,
  pod: SandboxPod,
  { words, stdin = false, tty = false, container }: ExecSettings,
): Promise<WebSocket> {
  // A terminal has only one stream of output.
  const query = new URLSearchParams({ stdout: "true", stderr: String(!tty), stdin: String(stdin), tty: String(tty) });
  if (container !== undefined) query.set("container", container);
  for (const word of words) query.append("command", word);
  const path = `${podPath(namespace, pod.name, "exec")}?${query.toString()}`;
  return openSocket(access, path, execProtocol).catch((error: unknown) => {
    throw sessionError(error, pod);
  });
}

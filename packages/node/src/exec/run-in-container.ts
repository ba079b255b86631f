import type { ContainerPlace, PodStreams } from "@agent-sandbox/kube";
import type { CommandResult } from "../pod/effects.ts";

/** Enough for the message of an event. */
const outputLimit = 10 * 1024;

/** Runs the command of a probe or hook until it ends. An abort kills it with all processes it started. */
export async function runInContainer(
  streams: Pick<PodStreams, "exec">,
  place: ContainerPlace,
  command: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const session = await streams.exec({ ...place, command, tty: false, stdin: false });
  const kill = (): void => session.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  let output = "";
  for (const stream of [session.stdout, session.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      if (output.length < outputLimit) output += chunk.toString();
    });
    stream.on("error", () => undefined);
  }
  try {
    const { code } = await session.exit;
    signal.throwIfAborted();
    return { code, output: output.slice(0, outputLimit) };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

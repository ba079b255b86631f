import type { Readable, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { Status } from "@agent-sandbox/api";
import type { ExecSession } from "@agent-sandbox/kube";
import type { ClientStreams } from "./client-streams.ts";
import { lostStatus } from "./exit-status.ts";
import { parseTerminalSize } from "./terminal-size.ts";

type Exit = Awaited<ExecSession["exit"]>;

/**
 * Joins a command and a client until one of them ends. Output waits for the client and input for the command, so that
 * neither piles up here; a client that hangs up ends the session.
 */
export async function joinSession(
  client: ClientStreams,
  session: ExecSession,
  statusOf: (exit: Exit) => Status,
): Promise<void> {
  let isOver = false;
  // After its end, a command may have left something running, which is not ours to kill.
  void client.gone.then(() => isOver || session.kill());
  client.onResize((message) => {
    const size = parseTerminalSize(message);
    if (size !== undefined) session.resize(size.columns, size.rows);
  });
  feed(client.stdin, session.stdin);
  await Promise.all([carry(session.stdout, client.stdout), carry(session.stderr, client.stderr)]);
  const status = await session.exit.then(statusOf, (error: unknown) => lostStatus(String(error)));
  isOver = true;
  await client.finish(status);
}

function feed(from: Readable | undefined, to: Writable): void {
  // A command that ends without reading its input is judged by its exit code.
  to.on("error", () => undefined);
  if (from === undefined) return void to.end();
  from.pipe(to);
  from.once("close", () => to.end());
  // Who still sends must not be held up by a command that no longer reads: the outputs come over the same wire.
  to.once("close", () => {
    from.unpipe(to);
    from.resume();
  });
}

async function carry(output: Readable, to: Writable | undefined): Promise<void> {
  try {
    if (to === undefined) await finished(output.resume());
    else await pipeline(output, to);
  } catch {
    // A command that is killed tears its outputs, and so does a client that goes; the exit says why.
  }
}

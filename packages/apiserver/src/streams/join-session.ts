import type { Readable, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { Status } from "@agent-sandbox/api";
import type { ExecSession } from "@agent-sandbox/kube";
import type { ClientStreams } from "./client-streams.ts";
import { lostStatus } from "./exit-status.ts";
import { parseTerminalSize } from "./terminal-size.ts";

type Exit = Awaited<ExecSession["exit"]>;

/**
 * Connects a command and a client until one of them ends. Backpressure applies in both directions, so nothing is buffered
 * here. When the client disconnects, the command is killed.
 */
export async function joinSession(
  client: ClientStreams,
  session: ExecSession,
  statusOf: (exit: Exit) => Status,
): Promise<void> {
  let isOver = false;
  // A command that has ended may have left background processes, which must keep running.
  void client.gone.then(() => isOver || session.kill());
  client.onResize((message) => {
    const size = parseTerminalSize(message);
    if (size !== undefined) session.resize(size.columns, size.rows);
  });
  feed(client.stdin, session.stdin);
  await Promise.all([carry(session.stdout, client.stdout), carry(session.stderr, client.stderr)]);
  const status = await session.exit.then(statusOf, (error: unknown) => lostStatus(textOf(error)));
  isOver = true;
  await client.finish(status);
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function feed(from: Readable | undefined, to: Writable): void {
  // A command may end without reading its input. Its exit code reports the result.
  to.on("error", () => undefined);
  if (from === undefined) return void to.end();
  from.pipe(to);
  from.once("close", () => to.end());
  // Discard further input of a command that no longer reads: blocked input would also block the outputs on the same connection.
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
    // Outputs break when the command is killed or the client disconnects. The exit status gives the reason.
  }
}

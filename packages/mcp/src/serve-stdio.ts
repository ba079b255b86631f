import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { Caller, Settings } from "./caller.ts";
import { createServer } from "./create-server.ts";
import { RunningCalls } from "./running-calls.ts";
import { followSandboxes } from "./sandboxes/follow-sandboxes.ts";

export interface StdioOptions {
  readonly caller: Caller;
  readonly settings: Settings;
  readonly version: string;
  readonly input: Readable;
  /** Nothing else may write to it. */
  readonly output: Writable;
  /** Ends the connection. */
  readonly signal: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** Commands of cancelled calls are killed within this time, or else when they notice that nobody reads them. */
const endMs = 5000;
/** A message can be a file of this size. */
const maxMessageBytes = 10_485_760;

/** Serves one host, until its input ends, it sends a message that is too long, or the signal is aborted. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { caller, settings, version, input, output, signal, onError } = options;
  const calls = new RunningCalls();
  const transport = new HostTransport(input, output, { maxBufferSize: maxMessageBytes });
  const servers = new Set<ReturnType<typeof createServer>>();
  const notify = (): void => {
    for (const server of servers) if (server.isConnected()) server.sendResourceListChanged();
  };
  const ending = new AbortController();
  await followSandboxes({ caller, onChange: notify, signal: ending.signal });
  const handle = serve(
    () => {
      const server = createServer({ caller, settings, version, track: (call) => calls.add(call) });
      servers.add(server);
      return server;
    },
    { transport, onerror: onError },
  );
  const close = (): void => void handle.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  await transport.closed;
  ending.abort();
  await handle.close();
  await calls.ended(endMs);
}

/** Closes itself when the input ends, and when a message is too long. */
class HostTransport extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>();

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#closed.resolve();
  }
}

import { StdioServerTransport, serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { Caller, Settings } from "./caller.ts";
import { createServer } from "./create-server.ts";

export interface StdioOptions {
  readonly caller: Caller;
  readonly settings: Settings;
  readonly version: string;
  readonly onError?: (error: Error) => void;
}

/** Commands of cancelled calls are killed within this time, or else when they notice that nobody reads them. */
const endMs = 5000;

/** Serves one host over the standard input and output, until the input ends. */
export async function serveStdio({ caller, settings, version, onError }: StdioOptions): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const track = (call: Promise<unknown>): void => {
    const settled = call.then(
      () => undefined,
      () => undefined,
    );
    running.add(settled);
    void settled.then(() => running.delete(settled));
  };
  const ended = Promise.withResolvers<void>();
  const transport = new StdioServerTransport();
  const servers = new Set<ReturnType<typeof createServer>>();
  const notify = (): void => {
    for (const server of servers) if (server.isConnected()) server.sendResourceListChanged();
  };
  const shared = { ...settings, onListChanged: notify };
  const handle = serve(
    () => {
      const server = createServer({ caller, settings: shared, version, track });
      servers.add(server);
      return server;
    },
    { transport, ...(onError && { onerror: onError }) },
  );
  process.stdin.once("end", () => ended.resolve()).once("close", () => ended.resolve());
  await ended.promise;
  await handle.close();
  const timer = new Promise((resolve) => setTimeout(resolve, endMs).unref());
  await Promise.race([Promise.all(running), timer]);
}

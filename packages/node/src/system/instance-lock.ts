import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";

const mostTries = 40;
const betweenTriesMs = 50;

/**
 * One process per data folder. A socket in the abstract namespace is a lock that the kernel takes back whatever way its
 * holder ends. It may take a moment: a program that the holder was about to start has the socket until it has begun.
 */
export async function lockInstance(layout: Layout): Promise<AsyncDisposable> {
  for (let tries = 1; ; tries++) {
    try {
      const server = await listen(`\0agent-sandbox-node-${layout.id}`);
      server.unref();
      return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
    } catch (error) {
      if (!hasCode(error, "EADDRINUSE")) throw error;
      if (tries === mostTries) {
        const message = `Cannot use data folder "${layout.dataDir}": another process runs its node`;
        throw new NodeError("NodeSetup", message, { cause: error });
      }
      await sleep(betweenTriesMs);
    }
  }
}

async function listen(address: string): Promise<Server> {
  const server = createServer((connection) => connection.destroy());
  server.listen(address);
  await once(server, "listening");
  return server;
}

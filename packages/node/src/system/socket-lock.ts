import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../errors.ts";

const betweenTriesMs = 50;

/**
 * A lock for one process at a time, by a name. A socket in the abstract namespace is taken back by the kernel whatever
 * way its holder ends. It may take a moment: a program that the holder was about to start has the socket until it has
 * begun. Undefined when somebody else still holds it after that long.
 */
export async function takeLock(name: string, patienceMs: number): Promise<AsyncDisposable | undefined> {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      const server = await listen(`\0agent-sandbox-${name}`);
      server.unref();
      return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
    } catch (error) {
      if (!hasCode(error, "EADDRINUSE")) throw error;
      if (performance.now() >= until) return undefined;
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

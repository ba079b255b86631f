import { once } from "node:events";
import { createServer } from "node:net";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";

/**
 * One process per data folder. A socket in the abstract namespace is a lock that the kernel takes back whatever way its
 * holder ends.
 */
export async function lockInstance(layout: Layout): Promise<AsyncDisposable> {
  const server = createServer((connection) => connection.destroy());
  server.listen(`\0agent-sandbox-node-${layout.id}`);
  try {
    await once(server, "listening");
  } catch (error) {
    if (!hasCode(error, "EADDRINUSE")) throw error;
    throw new NodeError("NodeSetup", `Cannot use data folder "${layout.dataDir}": another process runs its node`, {
      cause: error,
    });
  }
  server.unref();
  return {
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

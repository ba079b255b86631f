import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiServer } from "@agent-sandbox/apiserver";
import { simulatedNode } from "./simulated-node.ts";

/**
 * Runs only the embedded API server, with a simulated node.
 *
 *   node --conditions=source test/clients/serve.ts
 *
 * Prints the path of a kubeconfig when it is ready, and ends when its input ends.
 */
const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-clients-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
await using server = await createApiServer({
  dataDir: join(folder, "data"),
  nodeName: "box",
  podStreams: simulatedNode,
  // Short enough for a test that waits for a bookmark.
  bookmarkMs: 1000,
});
const kubeconfig = join(folder, "kubeconfig");
(await server.listen()).writeKubeconfig(kubeconfig);
console.log(kubeconfig);
for await (const _ of process.stdin);

/**
 * The embedded API server of the benchmark, in a separate process: `server.ts FOLDER [PODS]`. Creates that many Pods, prints its
 * address as one line of JSON, and answers each line of input with its memory, the size of its Pods as JSON, and its CPU time. Exits
 * at the end of its input.
 */
import { createInterface } from "node:readline";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import { pod } from "./objects.ts";

const [dataDir, count = "0"] = process.argv.slice(2);
const pods = "/api/v1/namespaces/default/pods";

async function fill(server: ApiServer, count: number): Promise<void> {
  let at = 0;
  const writer = async (): Promise<void> => {
    while (at < count) {
      at += 1;
      const { status } = await server.transport.send({
        method: "POST",
        path: pods,
        body: pod("default", `filled-${at}`),
      });
      if (status !== 201) throw new Error(`Cannot fill the store: status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, writer));
}

async function podBytes(server: ApiServer): Promise<number> {
  const { body } = await server.transport.send({ method: "GET", path: pods });
  return (body as { items: object[] }).items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0);
}

const server = await createApiServer({ dataDir });
await fill(server, Number(count));
const { url, authority, token } = await server.listen();
console.log(JSON.stringify({ url, authority, token }));

for await (const _question of createInterface({ input: process.stdin })) {
  const jsonBytes = await podBytes(server);
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ heldBytes: heapUsed + external, jsonBytes, cpuMs: (user + system) / 1000 }));
}
await server.close();

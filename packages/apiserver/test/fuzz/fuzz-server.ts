import { createApiServer } from "../../src/index.ts";
import { FakePodStreams } from "../../src/streams/fake-pod-streams.test.support.ts";
import type { ServerReport } from "./server-process.ts";

/**
 * The fuzzed server in its own process, which reports to its parent. A turn of the event loop is measured by the CPU time of its
 * thread, because waiting for a CPU on a busy machine is not a hang.
 */
const say = (message: object): void => void process.send?.(message);
const problem = (fields: object, message: string): void => {
  const { err, ...rest } = fields as { err?: Error };
  say({ problem: `${message} ${JSON.stringify(rest)} ${err?.stack ?? ""}` });
};

const server = await createApiServer({
  podStreams: new FakePodStreams(),
  nodeName: "box",
  dataDir: process.argv[2],
  logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: problem },
});
const { port, authority, token } = await server.listen();

const pods = "/api/v1/namespaces/default/pods";
const containers = [{ name: "main", image: "busybox" }];
const state = { name: "main", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "streaming" }, spec: { containers } };
await server.transport.send({ method: "POST", path: pods, body });
await server.transport.send({
  method: "PATCH",
  path: `${pods}/streaming/status`,
  headers: { "content-type": "application/merge-patch+json" },
  body: { status: { phase: "Running", containerStatuses: [state] } },
});
say({ listening: { port, authority, token } });

const milliseconds = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
let before = milliseconds();
let longestTurnMs = 0;
setInterval(() => {
  const now = milliseconds();
  longestTurnMs = Math.max(longestTurnMs, now - before);
  before = now;
}, 10);

const collect = (globalThis as { gc?: () => void }).gc;

process.on("message", () => {
  collect?.();
  const report: ServerReport = { longestTurnMs, heapBytes: process.memoryUsage().heapUsed };
  longestTurnMs = 0;
  // Do not count the time of the garbage collection.
  before = milliseconds();
  say({ report });
});
process.on("disconnect", () => process.exit());

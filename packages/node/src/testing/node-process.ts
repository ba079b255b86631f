import { type Logger, silentLogger } from "@agent-sandbox/kube";
import { createNode } from "../create-node.ts";
import { severalContainers } from "./several.ts";
import { isReady, nodeName, openTestApi } from "./test-api.ts";

/**
 * A node in its own process, for tests that kill it: `node-process.ts <data folder> <Pods> [kind] [runtime]`. Its API server
 * assigns UIDs in the order of creation, so a later process that first creates as many Pods has the same UIDs. It prints each
 * step on a line.
 */
const [dataDir = "", count = "1", kind, defaultRuntime = "runc"] = process.argv.slice(2);
const api = openTestApi();
const names = Array.from({ length: Number(count) }, (_, index) => `pod-${index}`);
for (const name of names) await api.create(name, kind === "several" ? severalContainers : {});
process.stdout.write("created\n");
const logger: Logger = {
  ...silentLogger,
  info: (fields) => {
    if ("do" in fields) process.stdout.write(`${String(fields.do)}\n`);
  },
};
const node = await createNode({ client: api.client, defaultRuntime, nodeName, dataDir, logger });
process.stdout.write("started\n");
await Promise.all(names.map((name) => api.until(name, isReady)));
const session = await node.podStreams.exec({
  namespace: "default",
  pod: "pod-0",
  command: ["sleep", "4242"],
  tty: false,
  stdin: true,
});
process.stdout.write("running\n");
await session.exit;

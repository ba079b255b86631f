import { text } from "node:stream/consumers";
import { restoreAnnotation, type Sandbox, sandboxes, saveAnnotation } from "@agent-sandbox/api";
import { type Logger, silentLogger } from "@agent-sandbox/kube";
import { createNode } from "../../src/create-node.ts";
import { pods } from "../../src/resources.ts";
import { isGone, isReady, keepingMetadata, namespace, nodeName, openTestApi } from "../../src/testing/test-api.ts";
import { conditionOf } from "./saved-pods.ts";

/**
 * A node in its own process, for tests that kill it while it saves or restores a Pod:
 * `save-process.ts <data folder> start|save|restore`. Its API server assigns UIDs in the order of creation, so that later
 * processes know the same Pod. `start` starts the Pod and then asks to save it; `save` continues with that request; `restore`
 * restores the Pod in a new one. It prints each step on a line, and at the end the log of the Pod.
 */
const [dataDir = "", mode = "start"] = process.argv.slice(2);
const name = "counter";
const say = (line: string): unknown => process.stdout.write(`${line}\n`);
const logger: Logger = {
  ...silentLogger,
  info: (fields) => {
    if ("do" in fields) say(`do ${String(fields.do)}`);
  },
};

const command = ["sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done"];
const api = openTestApi();
const wanted = { metadata: { namespace, name }, spec: { podTemplate: { spec: { containers: [] } } } };
const sandbox = (await api.client.create(sandboxes, wanted as unknown as Sandbox)) as Sandbox;
await createPod(mode === "save" ? { [saveAnnotation]: "0" } : {});
if (mode === "restore") {
  await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await api.until(name, isGone);
  await createPod({ [restoreAnnotation]: "suspension/0" });
}
const node = await createNode({ client: api.client, nodeName, dataDir, logger });
if (mode === "start") {
  await api.until(name, isReady);
  const body = { metadata: { annotations: { [saveAnnotation]: "0" } } };
  await api.client.patch(pods, { namespace, name }, { type: "merge", body });
  say("asked");
}
const type = mode === "restore" ? "PodRestored" : "agents.x-k8s.io/Saved";
const pod = await api.until(name, (one) => conditionOf(one, type) !== undefined);
const { status, reason, message } = conditionOf(pod, type) ?? {};
say(`answer ${status} ${status === "True" ? "" : `${reason}: ${message}`}`);
const place = { namespace, pod: name, follow: false, previous: false, timestamps: false };
const log = await text(await node.podStreams.logs(place));
say(`log ${log.trim().split("\n").join(",")}`);
await node.stop();

async function createPod(annotations: Record<string, string>): Promise<void> {
  const metadata = keepingMetadata(sandbox);
  const all = { ...metadata.annotations, "agents.x-k8s.io/suspend-depth": "Memory", ...annotations };
  await api.client.create(pods, {
    metadata: { ...metadata, annotations: all, namespace, name },
    spec: { nodeName, containers: [{ name: "main", image: "host", command }] },
  });
}

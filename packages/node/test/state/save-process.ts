import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { restoreAnnotation, type Sandbox, sandboxes, saveAnnotation } from "@agent-sandbox/api";
import { type Logger, silentLogger } from "@agent-sandbox/kube";
import { createNode } from "../../src/create-node.ts";
import { pods } from "../../src/resources.ts";
import { isGone, isReady, keepingMetadata, namespace, nodeName, openTestApi } from "../../src/testing/test-api.ts";
import { counter } from "./counter.ts";
import { conditionOf } from "./saved-pods.ts";

/**
 * A node in its own process, for tests that kill it while it saves or restores a Pod: `save-process.ts <data folder> <mode>`. Its API
 * server assigns UIDs in the order of creation, so that later processes know the same Pods.
 * - `save` starts the Pod and asks to save it.
 * - `resave` is for a later process: the Pod exists, and the request too. When the Pod is saved, it is restored.
 * - `restore` is for a later process: the saved Pod is gone, and the next one is to be restored.
 *
 * It prints each step, answer and log on a line.
 */
const [dataDir = "", mode = "save"] = process.argv.slice(2);
const name = "counter";
const say = (line: string): unknown => process.stdout.write(`${line}\n`);
const logger: Logger = {
  ...silentLogger,
  info: (fields) => {
    if ("do" in fields) say(`do ${String(fields.do)}`);
  },
};

// Node exits when it only waits for the end of another program. A real node has connections.
const alive = setInterval(() => undefined, 1000);
const api = openTestApi();
const wanted = { metadata: { namespace, name }, spec: { podTemplate: { spec: { containers: [] } } } };
const sandbox = await api.client.create(sandboxes, wanted as unknown as Sandbox);
await createPod(mode === "resave" ? { [saveAnnotation]: "0" } : {});
if (mode === "restore") await replacePod();
const node = await createNode({ client: api.client, nodeName, dataDir, logger });
if (mode === "save") {
  await api.until(name, isReady);
  const body = { metadata: { annotations: { [saveAnnotation]: "0" } } };
  await api.client.patch(pods, { namespace, name }, { type: "merge", body });
  say("asked");
}
if (mode !== "restore") await report("agents.x-k8s.io/Saved");
if (mode === "resave") await replacePod();
if (mode !== "save") await report("PodRestored");
await node.stop();
clearInterval(alive);

async function createPod(annotations: Record<string, string>): Promise<void> {
  const metadata = keepingMetadata(sandbox);
  const all = { ...metadata.annotations, "agents.x-k8s.io/suspend-depth": "Memory", ...annotations };
  await api.client.create(pods, {
    metadata: { ...metadata, annotations: all, namespace, name },
    spec: { nodeName, containers: [{ name: "main", image: "host", command: counter() }] },
  });
}

/** What the controller does with a saved Pod. */
async function replacePod(): Promise<void> {
  await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
  await api.until(name, isGone);
  await createPod({ [restoreAnnotation]: "suspension/0" });
}

async function report(type: string): Promise<void> {
  const pod = await api.until(name, (one) => conditionOf(one, type) !== undefined);
  const { status, reason, message } = conditionOf(pod, type) ?? {};
  say(`answer ${status === "True" ? status : `${reason}: ${message}`}`);
  const place = { namespace, pod: name, follow: false, previous: false, timestamps: false };
  // Only whole lines: the container may be writing.
  const log = async (): Promise<string[]> => (await text(await node.podStreams.logs(place))).split("\n").slice(0, -1);
  // A restored container counts on, and has a monitor that writes its log.
  const wanted = type === "PodRestored" && status === "True" ? 5 : 0;
  while ((await log()).length < wanted) await sleep(50);
  say(`log ${(await log()).join()}`);
}

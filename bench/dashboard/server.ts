/**
 * A box without a node, in a separate process: the embedded API server and the dashboard's server, as in a box, with Sandboxes whose status
 * is written here instead of by controllers. `server.ts FOLDER PAGE COUNT` prints `{ link }` for each line `login`. A line `rate N`
 * begins N updates in each second; `step N` makes N updates, replaces some objects by new ones, and answers when that is done.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import { startDashboard } from "@agent-sandbox/dashboard";
import type { ContainerFigures, PodStreams, UsageFigures } from "@agent-sandbox/kube";
import { event, namespaces, type Place, placeOf, pod, sandbox, stateAt, states, statusOf } from "./objects.ts";

const [dataDir = "", page = "", countText = "0"] = process.argv.slice(2);
const count = Number(countText);
const firstEvents = 2000;
const parallel = 32;
/** In each step, so many objects of a kind are replaced by new ones. */
const replaced = 4;

const sandboxesOf = ({ namespace }: Pick<Place, "namespace">): string =>
  `/apis/agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxes`;

const podUids: string[] = [];

/** Every measurement differs from the one before, as on a machine. */
function figures(): UsageFigures {
  const pods = new Map<string, readonly ContainerFigures[]>();
  for (const uid of podUids) pods.set(uid, [{ name: "main", diskBytes: 4096, ...someUse() }]);
  return { atMs: Date.now(), windowMs: 5000, node: { cpuNanoCores: 1.4e9, memoryBytes: 9e9 }, pods };
}

const someUse = () => ({ cpuNanoCores: Math.round(Math.random() * 5e8), memoryBytes: Math.round(Math.random() * 1e9) });

const podStreams: PodStreams = {
  exec: () => Promise.reject(new Error("there is no node")),
  usage: async () => figures(),
};

async function send(server: ApiServer, method: "POST" | "PATCH" | "DELETE", path: string, body?: object) {
  const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
  const reply = await server.transport.send({ method, path, headers, ...(body !== undefined && { body }) });
  if (reply.status >= 300) throw new Error(`Cannot ${method} ${path}: status ${reply.status}`);
  return reply.body as { readonly metadata: { readonly uid: string } };
}

async function addSandbox(server: ApiServer, index: number): Promise<void> {
  const place = placeOf(index);
  const state = stateAt(index);
  await send(server, "POST", sandboxesOf(place), sandbox(index));
  await send(server, "PATCH", `${sandboxesOf(place)}/${place.name}/status`, { status: statusOf(state) });
  if (state !== "running" || podUids.length >= count) return;
  const pods = `/api/v1/namespaces/${place.namespace}/pods`;
  const { metadata } = await send(server, "POST", pods, pod(index));
  await send(server, "PATCH", `${pods}/${place.name}/status`, { status: { phase: "Running" } });
  podUids.push(metadata.uid);
}

const eventPath = (index: number): string => `/api/v1/namespaces/${placeOf(index % count).namespace}/events`;

/** Calls `work` for 0, 1, … with several calls at a time. */
async function forEach(total: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let at = 0;
  const worker = async (): Promise<void> => {
    while (at < total) await work(at++);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

async function fill(server: ApiServer): Promise<void> {
  for (const name of namespaces.slice(1)) await send(server, "POST", "/api/v1/namespaces", { metadata: { name } });
  await send(server, "POST", "/api/v1/nodes", { metadata: { name: "box" } });
  await send(server, "PATCH", "/api/v1/nodes/box/status", { status: { capacity: { cpu: "8", memory: "32Gi" } } });
  await forEach(count, (index) => addSandbox(server, index));
  await forEach(firstEvents, (index) => send(server, "POST", eventPath(index), event(index, index % count)));
}

let updates = 0;

/** Most updates are activity; every fourth changes the state. */
async function update(server: ApiServer): Promise<void> {
  const at = updates++;
  // Multiplied by a prime, so that neighbours in the list do not change together.
  const place = placeOf((at * 7919) % count);
  const path = `${sandboxesOf(place)}/${place.name}`;
  if (at % 4 === 0) {
    const state = states[(at / 4) % states.length] ?? "running";
    await send(server, "PATCH", `${path}/status`, { status: statusOf(state) });
  } else {
    const annotations = { "agents.x-k8s.io/last-activity": new Date().toISOString() };
    await send(server, "PATCH", path, { metadata: { annotations } });
  }
}

let running = new AbortController();

/** Updates objects at a rate until the next call. */
async function updateAt(server: ApiServer, perSecond: number): Promise<void> {
  running.abort();
  running = new AbortController();
  if (perSecond === 0) return;
  const { signal } = running;
  const started = performance.now();
  for (let made = 0; !signal.aborted; made += 1) {
    const wait = (made * 1000) / perSecond - (performance.now() - started);
    if (wait > 1) await sleep(wait);
    await update(server);
  }
}

let steps = 0;
async function step(server: ApiServer, changes: number): Promise<void> {
  const at = steps++;
  for (let made = 0; made < changes; made += 1) await update(server);
  for (let one = 0; one < replaced; one += 1) {
    const index = at * replaced + one;
    const born = count + index;
    await addSandbox(server, born);
    const old = placeOf(born - replaced);
    if (index >= replaced) await send(server, "DELETE", `${sandboxesOf(old)}/${old.name}`);
    await send(server, "POST", eventPath(firstEvents + index), event(firstEvents + index, index % count));
    await send(server, "DELETE", `${eventPath(index)}/${nameOfEvent(index)}`);
  }
}

function nameOfEvent(index: number): string {
  const object = index < firstEvents ? index % count : (index - firstEvents) % count;
  return (event(index, object) as { metadata: { name: string } }).metadata.name;
}

const server = await createApiServer({ dataDir, nodeName: "box", podStreams });
await fill(server);
const { url, authority, token } = await server.listen();
const dashboard = await startDashboard({
  listen: { host: "127.0.0.1", port: 0 },
  api: { url, ca: authority },
  // Nothing listens there: the measured pages ask no sandbox.
  router: "http://127.0.0.1:9",
  page,
});
console.log("ready");

async function login(): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${dashboard.address}/logins`, { method: "POST", headers });
  return ((await response.json()) as { readonly url: string }).url;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word, value] = line.split(" ");
  if (word === "login") console.log(await login());
  else if (word === "rate") {
    void updateAt(server, Number(value));
    console.log("done");
  } else if (word === "step") {
    await step(server, Number(value));
    console.log("done");
  }
}
running.abort();
await dashboard[Symbol.asyncDispose]();
await server.close();

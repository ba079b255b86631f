/** Watches a namespace while its ConfigMaps are updated at a constant rate. Each event contains the time it was sent. */
import { Client } from "undici";
import { latencies, type Outcome, type Server, type WatchLoad } from "./task.ts";

const writers = 16;
/** The time in milliseconds, from a clock that sender and watcher share, as text of constant length. */
const now = (): string => performance.now().toFixed(3).padStart(12, "0");
const mark = '"sentAt":"';

function connect({ url, authority }: Server): Client {
  return new Client(url, { connect: { ca: authority }, allowH2: false, pipelining: 1, bodyTimeout: 0 });
}

interface Watching {
  readonly taken: number[];
  /** Resolves when all events of the last round have arrived. */
  readonly done: Promise<void>;
}

/** Searches the bytes for the time stamp. Parsing the JSON in a hundred watchers would measure the clients. */
async function startWatcher(task: WatchLoad, from: string, expected: number): Promise<Watching> {
  const client = connect(task.server);
  const path = `/api/v1/namespaces/${task.namespace}/configmaps?watch=1&resourceVersion=${from}`;
  const headers = { authorization: `Bearer ${task.server.token}`, accept: "application/json" };
  const { body, statusCode } = await client.request({ method: "GET", path, headers });
  if (statusCode !== 200) throw new Error(`Cannot watch: ${statusCode} ${await body.text()}`);
  const taken: number[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let rest = "";
  body.setEncoding("latin1");
  // A server may end a watch that is too slow. Events that never arrive are counted.
  body.once("close", resolve);
  body.once("error", () => resolve());
  body.on("data", (chunk: string) => {
    const received = performance.now();
    const text = rest + chunk;
    let end = 0;
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, end)) {
      const value = text.slice(at + mark.length, at + mark.length + 12);
      if (value.length < 12) break;
      taken.push(received - Number(value));
      end = at + mark.length + 12;
    }
    rest = text.slice(Math.max(end, text.length - mark.length - 12));
    if (taken.length >= expected) {
      resolve();
      void client.destroy();
    }
  });
  return { taken, done };
}

async function send(client: Client, { server, namespace }: WatchLoad, name: string): Promise<void> {
  const { statusCode, body } = await client.request({
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/configmaps/${name}`,
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/merge-patch+json" },
    body: JSON.stringify({ data: { sentAt: now() } }),
  });
  if (statusCode !== 200) throw new Error(`Cannot update ${name}: ${statusCode} ${await body.text()}`);
  await body.dump();
}

async function prepare(client: Client, task: WatchLoad): Promise<string> {
  let version = "";
  for (let at = 0; at < writers; at += 1) {
    const { body } = await client.request({
      method: "POST",
      path: `/api/v1/namespaces/${task.namespace}/configmaps`,
      headers: { authorization: `Bearer ${task.server.token}`, "content-type": "application/json" },
      body: JSON.stringify({ metadata: { name: `${task.prefix}-${at}` }, data: { text: "x".repeat(200) } }),
    });
    version = ((await body.json()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  }
  return version;
}

export async function watchUpdates(task: WatchLoad): Promise<Outcome> {
  const clients = Array.from({ length: writers }, () => connect(task.server));
  const from = await prepare(clients[0] as Client, task);
  const count = task.updatesPerSecond * task.seconds;
  const watchers = await Promise.all(Array.from({ length: task.watchers }, () => startWatcher(task, from, count)));
  let sent = 0;
  const started = performance.now();
  await Promise.all(
    clients.map(async (client, at) => {
      while (sent < count) {
        const dueMs = started + (sent / task.updatesPerSecond) * 1000;
        sent += 1;
        const early = dueMs - performance.now();
        if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
        await send(client, task, `${task.prefix}-${at}`);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(watchers.map(({ done }) => done));
  await Promise.all(clients.map((client) => client.close()));
  const taken = watchers.flatMap((watcher) => watcher.taken);
  const missing = 1 - taken.length / (count * task.watchers);
  return { perSecond: count / seconds, missing, ...latencies(taken) };
}

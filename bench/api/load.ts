/**
 * The clients of the benchmark, in a separate process: `load.ts TASK`, where the task is JSON. Each client has one connection and
 * waits for each response before it sends the next request. Prints the results as one line of JSON.
 */
import { Client } from "undici";
import { pod } from "./objects.ts";
import { type Load, latencies, type Outcome, type Server } from "./task.ts";
import { watchUpdates } from "./watch.ts";

const task = JSON.parse(process.argv[2] ?? "") as Load;

function connect({ url, authority }: Server): Client {
  return new Client(url, { connect: { ca: authority }, allowH2: false, pipelining: 1 });
}

async function ask(
  client: Client,
  server: Server,
  method: "GET" | "POST",
  path: string,
  body?: string,
): Promise<number> {
  const headers = {
    authorization: `Bearer ${server.token}`,
    "content-type": "application/json",
    accept: "application/json",
  };
  const started = performance.now();
  const response = await client.request({ method, path, headers, body: body ?? null });
  if (response.statusCode >= 300) {
    throw new Error(`Cannot use the run: ${method} ${path} gave ${response.statusCode} ${await response.body.text()}`);
  }
  await response.body.dump();
  return performance.now() - started;
}

/** Opens the connections and warms up the clients' code, so that neither counts as time of the server. */
const uncounted = 1000;

/** All clients together send `count` requests. The first responses are not counted. */
async function run(
  clients: number,
  count: number,
  once: (client: Client, at: number) => Promise<number>,
): Promise<Outcome> {
  const connections = Array.from({ length: clients }, () => connect(task.server));
  let at = 0;
  const take = async (count: number): Promise<number[]> => {
    const taken: number[] = [];
    const last = at + count;
    await Promise.all(
      connections.map(async (client) => {
        while (at < last) taken.push(await once(client, (at += 1)));
      }),
    );
    return taken;
  };
  await take(Math.min(uncounted, count));
  const started = performance.now();
  const taken = await take(count);
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(connections.map((client) => client.close()));
  return { perSecond: count / seconds, ...latencies(taken) };
}

function outcome(): Promise<Outcome> {
  const { server, namespace } = task;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  switch (task.do) {
    case "create":
      return run(task.clients, task.count, (client, at) =>
        ask(client, server, "POST", pods, JSON.stringify(pod(namespace, `${task.prefix}-${at}`))),
      );
    case "get":
      return run(task.clients, task.count, (client, at) =>
        ask(client, server, "GET", `${pods}/${task.prefix}-${1 + (at % task.among)}`),
      );
    case "list":
      return run(task.clients, task.count, (client) => ask(client, server, "GET", `${pods}?limit=${task.limit}`));
    case "watch":
      return watchUpdates(task);
  }
}

console.log(JSON.stringify(await outcome()));

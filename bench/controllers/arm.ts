/**
 * The controllers of the benchmark, in a separate process: `arm.ts ARM`, where the argument is JSON. Answers each line of input with
 * one line of JSON: what happened since the previous line. The answer to the line "memory" also has the memory of the process.
 */
import { createInterface } from "node:readline";
import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { accountIdentity, createApiServer } from "@agent-sandbox/apiserver";
import {
  type ControllersOptions,
  podCache,
  serviceCache,
  startControllers,
  volumeClaimCache,
} from "@agent-sandbox/controllers";
import { createClient, type Informer, Informers, type RunnerMetrics, type Transport } from "@agent-sandbox/kube";
import { networkPolicies } from "../../packages/controllers/src/template/network-policies.ts";
import type { Server } from "../api/task.ts";
import { connect } from "./connect.ts";
import type { Arm, Happened, Write } from "./process.ts";

const arm = JSON.parse(process.argv[2] ?? "") as Arm;

let writes: Write[] = [];
const passes = { sandbox: 0, sandboxclaim: 0, sandboxwarmpool: 0, sandboxtemplate: 0 };
const busy = new Map<string, { depth: number; running: number }>();
let onQuiet: (() => void) | undefined;

function counting(inner: Transport): Transport {
  return {
    send: async (request) => {
      if (request.method === "GET") return inner.send(request);
      const write = writeOf(request.method, request.path, request.body);
      writes.push(write);
      return inner.send(request).finally(() => Object.assign(write, { answeredAt: performance.now() }));
    },
    stream: (request) => inner.stream(request),
    close: () => inner.close(),
  };
}

/** `/apis/group/version/namespaces/ns/plural/name/status` is a write of `plural/status` on `name`. */
function writeOf(method: string, path: string, body: unknown): Write {
  const words = (path.split("?")[0] ?? "").split("/").slice(path.startsWith("/apis/") ? 6 : 5);
  const [plural = "", named, subresource] = words;
  const { metadata } = (body ?? {}) as { metadata?: { name?: string } };
  const kind = subresource === undefined ? plural : `${plural}/${subresource}`;
  return { what: `${method} ${kind}`, name: named ?? metadata?.name ?? "", at: performance.now() };
}

function metricsOf(name: keyof typeof passes): RunnerMetrics {
  const state = { depth: 0, running: 0 };
  busy.set(name, state);
  const look = (): void => {
    if (onQuiet !== undefined && isQuiet()) onQuiet();
  };
  return {
    reconciled: () => {
      passes[name] += 1;
    },
    depth: (keys) => {
      state.depth = keys;
      look();
    },
    running: (workers) => {
      state.running = workers;
      look();
    },
  };
}

const isQuiet = (): boolean => [...busy.values()].every(({ depth, running }) => depth === 0 && running === 0);

type Workers = NonNullable<ControllersOptions["workers"]>;
/** The manager's default flags. The box uses the controllers' own defaults. */
const managerWorkers: Workers = { sandbox: 100, sandboxclaim: 50, sandboxwarmpool: 1, sandboxtemplate: 1 };

async function runControllers(transport: Transport, workers: Workers): Promise<AsyncDisposable> {
  const silent = (): void => undefined;
  const tell = (fields: object, message: string): void => console.error(message, JSON.stringify(fields));
  const controllers = startControllers({
    client: createClient(counting(transport), { fieldManager: "agent-sandbox" }),
    log: { debug: silent, info: silent, warn: silent, error: tell },
    instance: "bench",
    workers,
    metrics: {
      sandbox: metricsOf("sandbox"),
      sandboxclaim: metricsOf("sandboxclaim"),
      sandboxwarmpool: metricsOf("sandboxwarmpool"),
      sandboxtemplate: metricsOf("sandboxtemplate"),
    },
  });
  await controllers.ready;
  if (!isQuiet()) await new Promise<void>((resolve) => (onQuiet = resolve));
  onQuiet = undefined;
  return controllers;
}

/** Holds the objects of the controllers' caches and nothing else, for comparison. */
async function holdObjects(transport: Transport): Promise<unknown> {
  await using informers = new Informers({ client: createClient(transport) });
  const kinds = [sandboxes, sandboxClaims, sandboxTemplates, sandboxWarmPools, networkPolicies];
  const caches = [
    ...kinds.map((kind) => informers.get(kind as typeof sandboxes) as unknown as Informer),
    podCache(informers),
    serviceCache(informers),
    volumeClaimCache(informers),
  ];
  await informers.synced();
  return caches.map((cache) => new Map(cache.list().map((object) => [object.metadata?.name ?? "", object])));
}

/** Serves users over HTTPS. The controllers run in the same process, as in the box, or in another one. */
async function startServer(dataDir: string, hasControllers: boolean): Promise<Server> {
  const server = owned.use(await createApiServer({ dataDir }));
  const { url, authority, token } = await server.listen();
  const account = accountIdentity({ namespace: "agent-sandbox-system", name: "agent-sandbox-controller" });
  if (hasControllers) owned.use(await runControllers(server.transportAs(account), {}));
  return { url, authority, token };
}

const started = performance.now();
await using owned = new AsyncDisposableStack();
let server: Server | undefined;
const kept: unknown[] = [];
if ("dataDir" in arm) server = await startServer(arm.dataDir, arm.run === "box");
else {
  const transport = owned.adopt(connect(arm.server), (open) => open.close());
  if (arm.run === "controllers") owned.use(await runControllers(transport, managerWorkers));
  else kept.push(await holdObjects(transport));
}
const settledMs = performance.now() - started;

let uncounted: NodeJS.CpuUsage | undefined;

function happened(question: string): Happened {
  const { user, system } = process.cpuUsage(uncounted);
  const told = { settledMs, writes, passes, cpuMs: (user + system) / 1000 };
  const held = question === "memory" ? { heldBytes: bytesHeld() } : {};
  uncounted = process.cpuUsage();
  return { ...told, ...held, ...(server !== undefined && { server }) };
}

/** Only on request: several collections in a row make V8 discard compiled code, which does not happen in production. */
function bytesHeld(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const say = (question: string): void => {
  console.log(JSON.stringify(happened(question)));
  writes = [];
  for (const name of Object.keys(passes) as (keyof typeof passes)[]) passes[name] = 0;
};
say("");
for await (const question of createInterface({ input: process.stdin })) say(question);

/**
 * The controllers of the benchmark, in a process of their own: `controllers-arm.ts SERVER`, where the server is JSON. Answers
 * each line of input with one of JSON: what has happened since the line before, or since the start.
 *
 * `controllers-arm.ts SERVER objects` holds the objects that the controllers' caches hold and nothing else, for comparison.
 */
import { createInterface } from "node:readline";
import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { podCache, serviceCache, startControllers, volumeClaimCache } from "@agent-sandbox/controllers";
import { createClient, type Informer, Informers, type RunnerMetrics, type Transport } from "@agent-sandbox/kube";
import { networkPolicies } from "../packages/controllers/src/template/network-policies.ts";
import type { Server } from "./api-task.ts";
import { connect } from "./controllers-connect.ts";
import type { Happened, Write } from "./controllers-process.ts";

const [address = "", mode] = process.argv.slice(2);
const transport = connect(JSON.parse(address) as Server);

let writes: Write[] = [];
const passes = { sandbox: 0, sandboxclaim: 0, sandboxwarmpool: 0, sandboxtemplate: 0 };
const busy = new Map<string, { depth: number; running: number }>();
let onQuiet: (() => void) | undefined;

function counting(inner: Transport): Transport {
  return {
    send: (request) => {
      if (request.method !== "GET") writes.push(writeOf(request.method, request.path, request.body));
      return inner.send(request);
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
    if (isQuiet()) onQuiet?.();
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

async function runControllers(): Promise<() => Promise<void>> {
  const silent = (): void => undefined;
  const tell = (fields: object, message: string): void => console.error(message, JSON.stringify(fields));
  const controllers = startControllers({
    client: createClient(counting(transport)),
    log: { debug: silent, info: silent, warn: silent, error: tell },
    instance: "bench",
    workers: { sandbox: 100, sandboxclaim: 50, sandboxwarmpool: 4, sandboxtemplate: 2 },
    metrics: {
      sandbox: metricsOf("sandbox"),
      sandboxclaim: metricsOf("sandboxclaim"),
      sandboxwarmpool: metricsOf("sandboxwarmpool"),
      sandboxtemplate: metricsOf("sandboxtemplate"),
    },
  });
  await controllers.ready;
  if (!isQuiet()) await new Promise<void>((resolve) => (onQuiet = resolve));
  return async () => controllers[Symbol.asyncDispose]();
}

async function holdObjects(): Promise<unknown> {
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

const started = performance.now();
const kept = await (mode === "objects" ? holdObjects() : runControllers());
const settledMs = performance.now() - started;

let uncounted: NodeJS.CpuUsage | undefined;

function happened(): Happened {
  const { user, system } = process.cpuUsage(uncounted);
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  // Collecting is the benchmark's doing.
  uncounted = process.cpuUsage();
  return { settledMs, writes, passes, heldBytes: heapUsed + external, cpuMs: (user + system) / 1000 };
}

const say = (): void => {
  console.log(JSON.stringify(happened()));
  writes = [];
  for (const name of Object.keys(passes) as (keyof typeof passes)[]) passes[name] = 0;
};
say();
for await (const _question of createInterface({ input: process.stdin })) say();
if (typeof kept === "function") await (kept as () => Promise<void>)();
await transport.close();

/**
 * One measurement in a new process: `informer` or `bare`, `list` or `watch`. Measures the time from the first request to the last object
 * in the Map, the memory after a garbage collection, and the peak memory of the process.
 */
import {
  createClient,
  fixedCredential,
  HttpTransport,
  Informers,
  type KubeObject,
  type Resource,
} from "@agent-sandbox/kube";
import { Pool } from "undici";

const [arm = "", task = "", url = "", expected = "0"] = process.argv.slice(2);
const count = Number(expected);
const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** Both variants keep whole objects. The informer usually trims them, which would make the comparison unfair. */
const whole = (object: KubeObject): KubeObject => object;

interface Run {
  /** Keeps the objects alive, so that they count. */
  readonly kept: unknown;
  readonly size: number;
}

async function informer(): Promise<Run> {
  const transport = new HttpTransport({ server: url, namespace: "", tls: {}, credentials: fixedCredential({}) });
  const informers = new Informers({ client: createClient(transport), follow: { initial: "list" } });
  const options = task === "watch" ? { trim: whole, labelSelector: "none" } : { trim: whole };
  const cache = informers.get(pods, options);
  let seen = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  cache.subscribe(({ deltas }) => {
    seen += deltas.length;
    if (seen >= count) resolve();
  });
  await promise;
  return { kept: [informers, cache], size: cache.size };
}

interface List {
  readonly items: readonly KubeObject[];
  readonly metadata: { readonly continue?: string };
}

/** The minimum: request, parse, Map. It uses the same pages and keys as the informer. */
async function bareList(): Promise<Run> {
  const pool = new Pool(url);
  const objects = new Map<string, KubeObject>();
  for (let token: string | undefined = ""; token !== undefined; ) {
    const { body } = await pool.request({ method: "GET", path: `/api/v1/pods?limit=500&continue=${token}` });
    const { items, metadata } = (await body.json()) as List;
    for (const item of items) objects.set(`${item.metadata?.namespace}/${item.metadata?.name}`, item);
    token = metadata.continue;
  }
  return { kept: objects, size: objects.size };
}

async function bareWatch(): Promise<Run> {
  const pool = new Pool(url);
  const objects = new Map<string, KubeObject>();
  const { body } = await pool.request({ method: "GET", path: "/api/v1/pods?watch=1", bodyTimeout: 0 });
  let rest: Buffer = Buffer.alloc(0);
  let seen = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      const { object } = JSON.parse(bytes.toString("utf8", start, end)) as { object: KubeObject };
      objects.set(`${object.metadata?.namespace}/${object.metadata?.name}`, object);
      seen += 1;
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (seen >= count) break;
  }
  return { kept: objects, size: objects.size };
}

const started = performance.now();
const cpu = process.cpuUsage();
const bare = task === "watch" ? bareWatch : bareList;
const { kept, size } = await (arm === "informer" ? informer() : bare());
const ms = performance.now() - started;
const { user, system } = process.cpuUsage(cpu);
const peakRssBytes = process.resourceUsage().maxRSS * 1024;
globalThis.gc?.();
globalThis.gc?.();
const { heapUsed, external } = process.memoryUsage();
console.log(
  JSON.stringify({ ms, cpuMs: (user + system) / 1000, peakRssBytes, retainedBytes: heapUsed + external, size }),
);
process.exit(kept === undefined ? 1 : 0);

import { describe, expect, type TestContext, test } from "vitest";
import { FeedInformer } from "../cache/feed-informer.ts";
import { createClient } from "../client/create-client.ts";
import { HostileApi, json, until } from "../client/http/hostile-api.test.support.ts";
import { HttpTransport, type HttpTransportOptions } from "../client/http/http-transport.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { type FollowOptions, followResource } from "./follow.ts";
import { at, expired, type Fault, fastClock, line, PodWorld, seeded } from "./pod-world.test.support.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const factor = 100;

async function setUp(
  { onTestFinished }: TestContext,
  options: Partial<FollowOptions<KubeObject>> & { transport?: HttpTransportOptions; world?: PodWorld } = {},
) {
  const { transport: transportOptions, world = new PodWorld(), ...followOptions } = options;
  const api = await HostileApi.start(world.answer);
  const transport = new HttpTransport(api.access(), transportOptions);
  const clock = fastClock(factor);
  const startedAt = clock.now();
  const client = createClient(transport, { clock });
  const informer = new FeedInformer(
    pods,
    {},
    {
      trim: (object) => object,
      open: (signal) => followResource(client, pods, { signal, clock, ...followOptions }),
    },
  );
  onTestFinished(async () => {
    await informer[Symbol.asyncDispose]();
    await transport.close();
    await api[Symbol.asyncDispose]();
  });
  const told: { key: string; version: string | undefined }[] = [];
  informer.subscribe(({ deltas }) => {
    for (const delta of deltas) told.push({ key: delta.key, version: delta.new?.metadata?.resourceVersion });
  });
  return { api, world, informer, told, seconds: () => (clock.now() - startedAt) / 1000 };
}

type Setup = Awaited<ReturnType<typeof setUp>>;

const content = (objects: Iterable<KubeObject>): string[] =>
  Array.from(objects, ({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();

const isCurrent = ({ informer, world }: Setup): boolean =>
  informer.hasSynced && JSON.stringify(content(informer.list())) === JSON.stringify(content(world.pods.values()));

/** Checks that every delivered version existed, and that versions of an object never go back. */
function expectTruth({ told, world }: Setup): void {
  const real = new Set(
    world.log.map(({ object }) => `ns/${object.metadata?.name}@${object.metadata?.resourceVersion}`),
  );
  const last = new Map<string, number>();
  for (const { key, version } of told) {
    if (version === undefined) continue;
    expect(real).toContain(`${key}@${version}`);
    expect(Number(version)).toBeGreaterThan(last.get(key) ?? 0);
    last.set(key, Number(version));
  }
}

const breaking: Fault = (request) => {
  request.socket.resetAndDestroy();
  return true;
};

const faults: Record<string, Fault> = {
  "500": (_, response) => {
    json(response, { kind: "Status", code: 500, reason: "InternalError", message: "etcd is sad" }, 500);
    return true;
  },
  "429": (_, response) => {
    json(response, { kind: "Status", code: 429, reason: "TooManyRequests" }, 429, { "retry-after": "1" });
    return true;
  },
  page: (_, response) => {
    response.writeHead(502, { "content-type": "text/html" }).end("<html>bad gateway</html>");
    return true;
  },
  welcome: (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<html>welcome</html>");
    return true;
  },
  reset: breaking,
  gone: (_, response) => {
    expired(response);
    return true;
  },
  truncated: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"type":"ADDED","object":{"metadata":{"na');
    return true;
  },
  "cut off": (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"type":"ADDED","object":{"metadata":{"name":"ghost","resourceVersion":"999999"}}}', () =>
      breaking(request, response),
    );
    return true;
  },
  garbage: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("\u0000\u0001\u0002 not json at all\n");
    return true;
  },
  nonsense: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(`{"type":"ADDED","object":{"kind":"Pod"}}\n`);
    return true;
  },
  "huge line": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write("x".repeat(200_000));
    return true;
  },
  closes: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end();
    return true;
  },
  silent: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
    return true;
  },
  drip: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write("{"), 20);
    response.on("close", () => clearInterval(timer));
    return true;
  },
  "old bookmarks": (request, response) => {
    const from = Number(new URL(request.url ?? "", "http://x").searchParams.get("resourceVersion"));
    response.writeHead(200, { "content-type": "application/json" });
    for (const version of [from, 1, from, 2]) response.write(line({ type: "BOOKMARK", object: at(version) }));
    response.end();
    return true;
  },
  "expires in the stream": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      line({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "compacted" } }),
    );
    return true;
  },
};

const watchOnly = new Set(["old bookmarks", "cut off", "nonsense", "closes", "expires in the stream"]);
const transport = { maxEventBytes: 100_000, requestTimeoutMs: 300 };

describe.concurrent("an informer of a faulty server", () => {
  test.for([1, 2, 3, 4])(
    "neither loses nor invents objects under random faults (seed %i)",
    { timeout: 120_000 },
    async (seed, context) => {
      const random = seeded(seed);
      const setup = await setUp(context, { transport, random, initial: seed % 2 === 0 ? "stream" : "list" });
      const { world, api } = setup;
      world.streams = true;
      const names = Object.keys(faults);
      world.fault = (kind) => {
        const name = names[Math.floor(random() * names.length)] ?? "";
        return random() < 0.6 && (kind === "watch" || !watchOnly.has(name)) ? faults[name] : undefined;
      };
      for (let write = 0; write < 600; write += 1) {
        const name = `pod-${Math.floor(random() * 40)}`;
        if (random() < 0.3) world.remove(name);
        else world.put(name);
        if (random() < 0.05) world.bookmark();
        if (random() < 0.02) api.breakAll();
        if (random() < 0.02) world.floor = world.version - 5;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      world.fault = undefined;
      await until(() => isCurrent(setup));
      expectTruth(setup);
      expect(setup.told.length).toBeGreaterThan(40);
      world.put("after");
      await until(() => isCurrent(setup));
    },
  );

  test.for(Object.keys(faults))(
    "limits its requests while every request fails with %s, and recovers afterwards",
    { timeout: 120_000 },
    async (name, context) => {
      const world = new PodWorld();
      world.put("a");
      world.fault = (kind) => (kind === "watch" || !watchOnly.has(name) ? faults[name] : undefined);
      const setup = await setUp(context, { transport, world, initial: "list" });
      await until(() => setup.seconds() > 120);
      // Within two minutes: the doubling waits of up to 5 s after a close, and their lists.
      expect(setup.api.requests.length).toBeLessThan(90);
      world.put("b");
      world.fault = undefined;
      await until(() => isCurrent(setup));
      expectTruth(setup);
    },
  );

  test("needs only more lists when every second watch fails with 410", async (context) => {
    const world = new PodWorld();
    world.fault = (kind, nth) => (kind === "watch" && nth % 2 === 0 ? faults["gone"] : undefined);
    const setup = await setUp(context, { world, initial: "list" });
    for (let round = 0; round < 10; round += 1) {
      world.put(`pod-${round}`);
      await until(() => isCurrent(setup));
      setup.api.breakAll();
    }
    expect(setup.informer.size).toBe(10);
    expectTruth(setup);
  });

  test("lists 10,000 objects completely although a continue token expires", async (context) => {
    const world = new PodWorld();
    for (let pod = 0; pod < 10_000; pod += 1) world.put(`pod-${pod}`);
    world.fault = (kind, nth) => {
      if (kind !== "list" || nth !== 10) return undefined;
      world.put("pod-0");
      world.floor = world.version;
      return undefined;
    };
    const setup = await setUp(context, { world, initial: "list" });
    await setup.informer.synced;
    expect(isCurrent(setup)).toBe(true);
    expect(setup.told.length).toBe(10_000);
    expect(world.counts.list).toBe(10 + 20);
    expectTruth(setup);
  });

  test("reconnects after the idle limit when a connection goes silent", async (context) => {
    const world = new PodWorld();
    world.fault = (kind, nth) => (kind === "watch" && nth === 1 ? faults["silent"] : undefined);
    const setup = await setUp(context, { world, initial: "list" });
    await until(() => world.counts.watch === 1);
    world.put("unseen");
    await until(() => isCurrent(setup));
    expect(setup.seconds()).toBeGreaterThan(90);
    // The second list checks whether the server still has the version.
    expect(world.counts).toEqual({ list: 2, watch: 2 });
    expectTruth(setup);
  });

  test("continues after a connection reset without losing changes", async (context) => {
    // On a busy machine the connection can be silent for 0.9 s, which is 90 s of this clock.
    const setup = await setUp(context, { initial: "list", idleMs: 3_600_000 });
    await until(() => setup.world.watches === 1);
    for (let round = 0; round < 5; round += 1) {
      setup.api.breakAll();
      setup.world.put(`pod-${round}`);
      await until(() => isCurrent(setup));
    }
    expect(setup.world.counts.list).toBe(1);
    expectTruth(setup);
  });

  test("follows a server that was restored from a backup", async (context) => {
    const setup = await setUp(context, { initial: "list" });
    const { world, informer } = setup;
    for (let pod = 0; pod < 50; pod += 1) world.put(`pod-${pod}`);
    await until(() => isCurrent(setup) && world.watches === 1);
    world.restore(world.version - 30);
    world.put("after");
    await until(() => isCurrent(setup));
    expect(informer.size).toBe(21);
  });

  test("needs one request when the server streams the initial objects", async (context) => {
    const world = new PodWorld();
    world.streams = true;
    for (let pod = 0; pod < 1_000; pod += 1) world.put(`pod-${pod}`);
    const setup = await setUp(context, { world });
    await until(() => isCurrent(setup));
    world.remove("pod-1");
    await until(() => isCurrent(setup));
    expect(world.counts).toEqual({ list: 0, watch: 1 });
  });
});

import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { KubeError } from "../../errors.ts";
import type { Transport, TransportRequest, WatchEvent } from "../../transport.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { type Answer, HostileApi, json, until } from "./hostile-api.test.support.ts";
import { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

async function setUp(
  answer: Answer,
  options: HttpTransportOptions = {},
  over: Partial<ClusterAccess> = {},
): Promise<{ api: HostileApi; transport: Transport }> {
  const api = await HostileApi.start(answer);
  const transport = new HttpTransport(api.access(over), options);
  opened.push(
    () => api[Symbol.asyncDispose](),
    () => transport.close(),
  );
  return { api, transport };
}

const get: TransportRequest = { method: "GET", path: "/api/v1/pods" };
const post: TransportRequest = { method: "POST", path: "/api/v1/pods", body: { kind: "Pod" } };

async function failing(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KubeError);
  return error as KubeError;
}

async function gather(events: AsyncIterable<readonly WatchEvent[]> | undefined) {
  const seen: WatchEvent[] = [];
  try {
    for await (const batch of events ?? []) seen.push(...batch);
  } catch (error) {
    return { seen, error: error as KubeError };
  }
  return { seen };
}

describe("a request", () => {
  test("carries its method, path below the server's prefix, headers and body", async () => {
    const { api } = await setUp((_, response) => json(response, { ok: true }, 201, { "x-one": "1" }));
    const transport = new HttpTransport({
      ...api.access({ headers: { "impersonate-group": ["a", "b"] } }),
      server: `${api.url}/prefix/`,
      credentials: { get: async () => ({ authorization: "Bearer t" }), renew: async (same) => same },
    });
    const patch = { ...post, method: "PATCH", headers: { "content-type": "application/merge-patch+json" } } as const;
    const answer = await transport.send(patch);
    await transport.close();
    expect(answer).toMatchObject({ status: 201, headers: { "x-one": "1" }, body: { ok: true } });
    expect(api.requests).toMatchObject([
      {
        method: "PATCH",
        path: "/prefix/api/v1/pods",
        body: '{"kind":"Pod"}',
        headers: {
          authorization: "Bearer t",
          accept: "application/json",
          "content-type": "application/merge-patch+json",
          "impersonate-group": "a, b",
        },
      },
    ]);
  });

  test("reuses connections, and takes no more than it may", async () => {
    const { api, transport } = await setUp((_, response) => json(response, {}), { connections: 3 });
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 20 }, () => transport.send(get)));
    expect(api.connections).toBe(3);
  });

  test("asks for compressed answers only where that is worthwhile", async () => {
    const zipped = gzipSync(JSON.stringify({ zipped: true }));
    const { api, transport } = await setUp(
      (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(zipped),
      {},
      { compression: true },
    );
    expect(await transport.send(get)).toMatchObject({ body: { zipped: true } });
    const plain = new HttpTransport(api.access());
    await plain.send(get);
    await plain.close();
    expect(api.requests.map(({ headers }) => headers["accept-encoding"])).toEqual(["gzip", undefined]);
  });

  test("that nobody listens to was never sent", async () => {
    const { api, transport } = await setUp(() => undefined);
    await api[Symbol.asyncDispose]();
    const error = await failing(transport.send(post));
    expect(error.reason).toBe("Unreachable");
    expect(error.message).toBe(`Cannot reach "${api.url}": nothing listens there: is the API server running?`);
  });

  test("to an address that is none is refused", () => {
    const access = { namespace: "", tls: {}, credentials: { get: async () => ({}), renew: async () => ({}) } };
    expect(() => new HttpTransport({ ...access, server: "10.0.0.1:6443" })).toThrow(/no http or https address/);
  });

  test.for<[string, Answer, HttpTransportOptions, KubeError["reason"], RegExp]>([
    [
      "a reset before any answer",
      (request) => request.socket.resetAndDestroy(),
      {},
      "Interrupted",
      /ECONNRESET|other side closed/,
    ],
    [
      "a close before any answer",
      (request) => request.socket.destroy(),
      {},
      "Interrupted",
      /other side closed|ECONNRESET/,
    ],
    [
      "a reset within the answer",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" }).write('{"a":', () => request.socket.resetAndDestroy());
      },
      {},
      "Interrupted",
      /the connection broke before the whole answer came/,
    ],
    [
      "a close within a chunked answer",
      (request, response) => void response.writeHead(200).write('{"a":', () => request.socket.end()),
      {},
      "Interrupted",
      /the connection broke/,
    ],
    [
      "JSON that is cut off but ends well",
      (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"items":[{"a'),
      {},
      "InvalidResponse",
      /Cannot read the answer 200 \(application\/json\): it is not whole JSON: it has 13 bytes and begins with/,
    ],
    [
      "a web page for a success",
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>Log in</html>"),
      {},
      "InvalidResponse",
      /text\/html.*<html>Log in/,
    ],
    [
      "an encoding nobody asked for",
      (_, response) => void response.writeHead(200, { "content-encoding": "br" }).end("??"),
      {},
      "InvalidResponse",
      /encoded as "br"/,
    ],
    [
      "damaged compression",
      (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("??"),
      {},
      "InvalidResponse",
      /compression is damaged/,
    ],
    [
      "a compressed bomb",
      (_, response) =>
        void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(1 << 20))),
      { maxBodyBytes: 100_000 },
      "InvalidResponse",
      /larger than 100000 bytes/,
    ],
    [
      "a body larger than it takes",
      (_, response) => void response.writeHead(200).end(JSON.stringify({ a: "x".repeat(200_000) })),
      { maxBodyBytes: 100_000 },
      "InvalidResponse",
      /larger than 100000 bytes/,
    ],
    ["no answer at all", () => undefined, { requestTimeoutMs: 50 }, "Interrupted", /no whole answer within 50 ms/],
    [
      "an answer byte by byte",
      (_, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write(" "), 5);
        response.on("close", () => clearInterval(drip));
      },
      { requestTimeoutMs: 100 },
      "Interrupted",
      /no whole answer within 100 ms/,
    ],
    [
      "something that is not HTTP",
      (request) => void request.socket.end("SSH-2.0-OpenSSH\r\n"),
      {},
      "Interrupted",
      /HTTP/,
    ],
  ])("answered with %s ends in one clear error and is not repeated", async ([, answer, options, reason, message]) => {
    const { api, transport } = await setUp(answer, options);
    const error = await failing(transport.send(post));
    expect(error.reason).toBe(reason);
    expect(error.message).toMatch(message);
    expect(api.requests.length).toBe(1);
  });

  test("a refusal keeps its body, JSON or not", async () => {
    const { transport } = await setUp((_, response, nth) => {
      if (nth === 1) json(response, { kind: "Status", code: 409 }, 409);
      else if (nth === 2) response.writeHead(502, { "content-type": "text/html" }).end("<html>bad gateway");
      else response.writeHead(503, { "content-length": "0" }).end();
    });
    expect(await transport.send(get)).toMatchObject({ status: 409, body: { kind: "Status" } });
    expect(await transport.send(get)).toMatchObject({ status: 502, body: "<html>bad gateway" });
    expect(await transport.send(get)).toMatchObject({ status: 503, body: undefined });
  });

  test("ends when its caller gives up, and so does its connection", async () => {
    const { api, transport } = await setUp(() => undefined);
    const abort = new AbortController();
    const answer = failing(transport.send({ ...post, signal: abort.signal }));
    await until(() => api.requests.length === 1);
    abort.abort();
    expect(await answer).toMatchObject({
      reason: "Interrupted",
      message: expect.stringContaining("the caller gave up"),
    });
    await until(() => api.openConnections === 0);
    const error = await failing(transport.send({ ...post, signal: abort.signal }));
    expect(error.reason).toBe("Unreachable");
    expect(api.requests.length).toBe(1);
  });

  test("that waits for a connection and is given up is never sent", async () => {
    const held: (() => void)[] = [];
    const { api, transport } = await setUp((_, response) => held.push(() => json(response, {})), { connections: 1 });
    const first = transport.send(get);
    await until(() => held.length === 1);
    const abort = new AbortController();
    const second = failing(transport.send({ ...post, signal: abort.signal }));
    const third = transport.send({ ...get, path: "/third" });
    abort.abort();
    expect(await second).toMatchObject({ reason: "Unreachable" });
    held[0]?.();
    await first;
    await until(() => held.length === 2);
    held[1]?.();
    await third;
    expect(api.requests.map(({ path }) => path)).toEqual([get.path, "/third"]);
  });

  test("ends with its transport, and none comes after", async () => {
    const { api, transport } = await setUp(() => undefined);
    const pending = failing(transport.send(get));
    await until(() => api.requests.length === 1);
    await transport.close();
    expect((await pending).reason).toBe("Interrupted");
    expect((await failing(transport.send(get))).message).toMatch(/the client is closed/);
  });
});

describe("credentials", () => {
  test("that are refused are renewed and the request sent once more", async () => {
    const tokens = ["old", "new"];
    const { api, transport } = await setUp(
      (request, response) => json(response, {}, request.headers.authorization === "Bearer new" ? 200 : 401),
      {},
      {
        credentials: {
          get: async () => ({ authorization: `Bearer ${tokens[0]}` }),
          renew: async () => ({ authorization: `Bearer ${tokens[1]}` }),
        },
      },
    );
    expect((await transport.send(post)).status).toBe(200);
    expect(api.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
    tokens[1] = "old";
    expect((await transport.send(post)).status).toBe(401);
    expect(api.requests.length).toBe(3);
  });
});

const event = (name: string): string => `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
const watching =
  (write: (response: Parameters<Answer>[1], socket: Parameters<Answer>[0]["socket"]) => void): Answer =>
  (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    write(response, request.socket);
  };
const named = (...names: string[]) => names.map((name) => ({ type: "ADDED", object: { metadata: { name } } }));

describe("a watch", () => {
  test("gives events as they come and ends when the server closes; half an event is none", async () => {
    const { transport } = await setUp(
      watching((response) => response.end(`${event("a")}\n${event("b")}${event("c").slice(0, -1)}`)),
    );
    const { events } = await transport.stream(get);
    expect(await gather(events)).toEqual({ seen: named("a", "b") });
  });

  test("survives characters and lines that are cut anywhere", async () => {
    const bytes = Buffer.from(event("fœx-🦊") + event("b"));
    const { transport } = await setUp(
      watching((response) => {
        const drip = async (): Promise<void> => {
          for (const byte of bytes) await new Promise((next) => response.write(Buffer.of(byte), next));
          response.end();
        };
        void drip();
      }),
    );
    expect(await gather((await transport.stream(get)).events)).toEqual({ seen: named("fœx-🦊", "b") });
  });

  test("that breaks gives what came whole, then the break", async () => {
    const { transport } = await setUp(
      watching(
        (response, socket) =>
          void response.write(event("a") + event("b").slice(0, 20), () =>
            setTimeout(() => socket.resetAndDestroy(), 20),
          ),
      ),
    );
    const { seen, error } = await gather((await transport.stream(get)).events);
    expect(seen).toEqual(named("a"));
    expect(error?.reason).toBe("Interrupted");
  });

  test.for<[string, string, RegExp]>([
    ["garbage", "\u0000\u0001garbage\n", /garbage.* is no event/],
    ["a number", "42\n", /"42" is no event/],
    ["a line longer than it takes", "x".repeat(2_000), /longer than 1000 bytes/],
  ])("with %s in it gives what came before, then the error", async ([, text, message]) => {
    const { transport, api } = await setUp(
      watching((response) => void response.write(event("a") + text)),
      { maxEventBytes: 1_000 },
    );
    const { seen, error } = await gather((await transport.stream(get)).events);
    expect(seen).toEqual(named("a"));
    expect(error).toMatchObject({ reason: "InvalidResponse", message: expect.stringMatching(message) });
    await until(() => api.openConnections === 0);
  });

  test("takes an event of many megabytes", async () => {
    const huge = "x".repeat(8 << 20);
    const { transport } = await setUp(watching((response) => response.end(event(huge) + event("b"))));
    const { seen } = await gather((await transport.stream(get)).events);
    expect(seen.map(({ object }) => object.metadata?.name?.length)).toEqual([huge.length, 1]);
  });

  test("that is refused gives the refusal; one that is a web page is an error", async () => {
    const { transport } = await setUp((_, response, nth) => {
      if (nth === 1) json(response, { kind: "Status", code: 410 }, 410);
      else response.writeHead(200, { "content-type": "text/html" }).end("<html>");
    });
    expect(await transport.stream(get)).toMatchObject({ status: 410, body: { code: 410 } });
    expect(await failing(transport.stream(get))).toMatchObject({ reason: "InvalidResponse" });
  });

  test("keeps no request waiting, however many there are", async () => {
    const { api, transport } = await setUp(
      (request, response) => {
        if (request.method === "POST") json(response, {});
        else response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
      },
      { connections: 1 },
    );
    const watches = await Promise.all(Array.from({ length: 50 }, () => transport.stream(get)));
    expect((await transport.send(post)).status).toBe(200);
    expect(api.openConnections).toBe(51);
    const endings = watches.map(({ events }) => gather(events));
    await transport.close();
    expect((await Promise.all(endings)).every(({ error }) => error?.reason === "Interrupted")).toBe(true);
  });

  test("outlives the bound of a request, and ends with its signal", async () => {
    const { api, transport } = await setUp(
      watching((response) => setTimeout(() => response.write(event("late")), 150)),
      { requestTimeoutMs: 50 },
    );
    const abort = new AbortController();
    const { events } = await transport.stream({ ...get, signal: abort.signal });
    const seen: WatchEvent[] = [];
    const error = await failing(
      (async () => {
        for await (const batch of events ?? []) {
          seen.push(...batch);
          abort.abort();
        }
      })(),
    );
    expect(seen).toEqual(named("late"));
    expect(error.reason).toBe("Interrupted");
    await until(() => api.openConnections === 0);
  });

  test("holds the server back when its reader is slow, and loses nothing", async () => {
    const count = 3_000;
    let written = 0;
    const { transport } = await setUp(
      watching((response) => {
        const pump = async (): Promise<void> => {
          for (; written < count; written += 1) {
            if (!response.write(event(`${written}-${"x".repeat(10_000)}`)))
              await new Promise((next) => response.once("drain", next));
          }
          response.end();
        };
        void pump();
      }),
    );
    const { events } = await transport.stream(get);
    let held = 0;
    let seen = 0;
    for await (const batch of events ?? []) {
      if (seen === 0) {
        // What fits into the sockets' buffers and ours goes; then the server has to wait.
        for (let before = -1; before !== written; ) {
          before = written;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        held = written;
      }
      seen += batch.length;
    }
    expect(held).toBeLessThan(count);
    expect(seen).toBe(count);
  });
});

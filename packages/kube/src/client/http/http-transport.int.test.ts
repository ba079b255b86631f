import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { KubeError } from "../../errors.ts";
import type { TransportRequest } from "../../transport.ts";
import { type Answer, failing, httpClients, json, openerOf, until } from "./hostile-api.test.support.ts";
import { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";

const get: TransportRequest = { method: "GET", path: "/api/v1/pods" };
const post: TransportRequest = { method: "POST", path: "/api/v1/pods", body: { kind: "Pod" } };

describe.each(httpClients)("a request with %o", (client) => {
  const open = openerOf(client);

  test("has its method, its path below the server's prefix, headers and body", async () => {
    const { api } = await open((_, response) => json(response, { ok: true }, 201, { "x-one": "1" }));
    const transport = new HttpTransport(
      {
        ...api.access({ headers: { "impersonate-group": ["a", "b"] } }),
        server: `${api.url}/prefix/`,
        credentials: { get: async () => ({ authorization: "Bearer t" }), renew: async (same) => same },
      },
      client,
    );
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

  test.for(["POST", "PUT", "DELETE"] as const)("%s has its whole body", async (method) => {
    const { api, transport } = await open((_, response) => json(response, {}));
    await transport.send({ method, path: "/", body: { text: "ö" } });
    await transport.send({ method, path: "/" });
    expect(api.requests.map(({ body }) => body)).toEqual(['{"text":"ö"}', ""]);
  });

  test("reuses connections and opens no more than allowed", async () => {
    const { api, transport } = await open((_, response) => json(response, {}), { connections: 3 });
    for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 20 }, () => transport.send(get)));
    expect(api.connections).toBe(3);
  });

  test("asks for compressed responses only if enabled", async () => {
    const zipped = gzipSync(JSON.stringify({ zipped: true }));
    const { api, transport } = await open(
      (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(zipped),
      {},
      { compression: true },
    );
    expect(await transport.send(get)).toMatchObject({ body: { zipped: true } });
    const plain = new HttpTransport(api.access(), client);
    await plain.send(get);
    await plain.close();
    expect(api.requests.map(({ headers }) => headers["accept-encoding"])).toEqual(["gzip", undefined]);
  });

  test("to a port without listener was not sent", async () => {
    const { api, transport } = await open(() => undefined);
    await api[Symbol.asyncDispose]();
    const error = await failing(transport.send(post));
    expect(error.reason).toBe("Unreachable");
    expect(error.message).toBe(`Cannot reach "${api.url}": nothing listens there: is the API server running?`);
  });

  test("to an invalid address is rejected", () => {
    const access = { namespace: "", tls: {}, credentials: { get: async () => ({}), renew: async () => ({}) } };
    expect(() => new HttpTransport({ ...access, server: "10.0.0.1:6443" })).toThrow(/not an http or https URL/);
  });

  test.for<[string, Answer, HttpTransportOptions, KubeError["reason"], RegExp]>([
    [
      "a reset before the response",
      (request) => request.socket.resetAndDestroy(),
      {},
      "Interrupted",
      /ECONNRESET|other side closed/,
    ],
    [
      "a close before the response",
      (request) => request.socket.destroy(),
      {},
      "Interrupted",
      /other side closed|ECONNRESET|socket hang up/,
    ],
    [
      "a reset within the response",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" }).write('{"a":', () => request.socket.resetAndDestroy());
      },
      {},
      "Interrupted",
      /the connection broke before the response was complete/,
    ],
    [
      "a close within a chunked response",
      (request, response) => void response.writeHead(200).write('{"a":', () => request.socket.end()),
      {},
      "Interrupted",
      /the connection broke/,
    ],
    [
      "incomplete JSON in a complete response",
      (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"items":[{"a'),
      {},
      "InvalidResponse",
      /Cannot read the response 200 \(application\/json\): it is not complete JSON: it has 13 bytes and begins with/,
    ],
    [
      "an HTML page as success",
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>Log in</html>"),
      {},
      "InvalidResponse",
      /text\/html.*<html>Log in/,
    ],
    [
      "an unrequested encoding",
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
      "a decompression bomb",
      (_, response) =>
        void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(1 << 20))),
      { maxBodyBytes: 100_000 },
      "InvalidResponse",
      /larger than 100000 bytes/,
    ],
    [
      "a body above the limit",
      (_, response) => void response.writeHead(200).end(JSON.stringify({ a: "x".repeat(200_000) })),
      { maxBodyBytes: 100_000 },
      "InvalidResponse",
      /larger than 100000 bytes/,
    ],
    [
      "no response at all",
      () => undefined,
      { requestTimeoutMs: 1_000 },
      "Interrupted",
      /no complete response within 1000 ms/,
    ],
    [
      "a response byte by byte",
      (_, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write(" "), 5);
        response.on("close", () => clearInterval(drip));
      },
      { requestTimeoutMs: 1_000 },
      "Interrupted",
      /no complete response within 1000 ms/,
    ],
    ["bytes that are not HTTP", (request) => void request.socket.end("SSH-2.0-OpenSSH\r\n"), {}, "Interrupted", /HTTP/],
  ])("that gets %s fails with one clear error and is not repeated", async ([, answer, options, reason, message]) => {
    const { api, transport } = await open(answer, options);
    const error = await failing(transport.send(post));
    expect(error.reason).toBe(reason);
    expect(error.message).toMatch(message);
    expect(api.requests.length).toBe(1);
  });

  test("that is rejected returns the body, JSON or not", async () => {
    const { transport } = await open((_, response, nth) => {
      if (nth === 1) json(response, { kind: "Status", code: 409 }, 409);
      else if (nth === 2) response.writeHead(502, { "content-type": "text/html" }).end("<html>bad gateway");
      else response.writeHead(503, { "content-length": "0" }).end();
    });
    expect(await transport.send(get)).toMatchObject({ status: 409, body: { kind: "Status" } });
    expect(await transport.send(get)).toMatchObject({ status: 502, body: "<html>bad gateway" });
    expect(await transport.send(get)).toMatchObject({ status: 503, body: undefined });
  });

  test("ends together with its connection when the caller aborts", async () => {
    const { api, transport } = await open(() => undefined);
    const abort = new AbortController();
    const answer = failing(transport.send({ ...post, signal: abort.signal }));
    await until(() => api.requests.length === 1);
    abort.abort();
    expect(await answer).toMatchObject({
      reason: "Interrupted",
      message: expect.stringContaining("the request was cancelled"),
    });
    await until(() => api.openConnections === 0);
    const error = await failing(transport.send({ ...post, signal: abort.signal }));
    expect(error.reason).toBe("Unreachable");
    expect(api.requests.length).toBe(1);
  });

  test("that is aborted while it waits for a connection is never sent", async () => {
    const held: (() => void)[] = [];
    const { api, transport } = await open((_, response) => held.push(() => json(response, {})), {
      connections: 1,
    });
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

  test("fails when the transport is closed, and so do later ones", async () => {
    const { api, transport } = await open(() => undefined);
    const pending = failing(transport.send(get));
    await until(() => api.requests.length === 1);
    await transport.close();
    expect((await pending).reason).toBe("Interrupted");
    expect((await failing(transport.send(get))).message).toMatch(/the client is closed/);
  });
});

test("few requests keep open the connections that a burst has opened", async () => {
  const ports: (number | undefined)[] = [];
  const { api, transport } = await openerOf({ startsFast: false })((request, response) => {
    ports.push(request.socket.remotePort);
    json(response, {});
  });
  await Promise.all(Array.from({ length: 4 }, () => transport.send(get)));
  const opened = ports.splice(0);
  expect(opened).toHaveLength(4);
  for (let nth = 0; nth < 8; nth += 1) await transport.send(get);
  expect(opened.filter((port) => !ports.includes(port))).toEqual([]);
  // undici may open one more than were needed at once.
  expect(api.connections).toBeLessThanOrEqual(5);
});

describe.each(httpClients)("credentials with %o", (client) => {
  const open = openerOf(client);

  test("that the server rejects are renewed, and the request is sent once more", async () => {
    const tokens = ["old", "new"];
    const { api, transport } = await open(
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

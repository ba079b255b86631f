import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { type IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";
import { readAll } from "./read-socket.test.support.ts";

let folder: string;
let server: ApiServer;
let listening: Listening;
const logged: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-http-"));
  const log = (fields: object, message: string): void => void logged.push(JSON.stringify(fields) + message);
  server = await createApiServer({ dataDir: folder, logger: { debug: log, info: log, warn: log, error: log } });
  listening = await server.listen();
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

async function send(path: string, options: SendOptions = {}): Promise<HttpAnswer> {
  const { body, headers, method = "GET" } = options;
  const sent = request({
    host: "127.0.0.1",
    port: listening.port,
    ca: listening.authority,
    path,
    agent: false,
    headers: { authorization: `Bearer ${listening.token}`, ...headers },
    method,
  });
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const isJson = response.headers["content-type"] === "application/json";
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isJson && text !== "" ? JSON.parse(text) : text,
  };
}

const json = { "content-type": "application/json" };
const configMaps = "/api/v1/namespaces/default/configmaps";

async function open(): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port: listening.port, ca: listening.authority });
  await once(socket, "secureConnect");
  socket.on("error", () => undefined);
  return socket;
}

describe("authentication", () => {
  test("is not needed for health checks", async () => {
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      expect(await send(path, { headers: { authorization: "" } })).toMatchObject({ status: 401 });
      const answer = await fetchAnonymously(path);
      expect(answer).toMatchObject({ status: 200, body: "ok" });
    }
    expect((await fetchAnonymously("/version")).body).toMatchObject({ major: "1" });
  });

  test.for(["/api", "/apis", "/api/v1/pods", "/", "/healthz/../api", "/openapi/v2"])(
    "nobody unknown, to %s",
    async (path) => {
      expect(await fetchAnonymously(path)).toMatchObject({
        status: 401,
        body: { kind: "Status", reason: "Unauthorized" },
      });
    },
  );

  test.for(["Bearer wrong", "Bearer ", "Basic YTpi", "bearer"])("refuses %j", async (authorization) => {
    expect((await send("/api/v1/pods", { headers: { authorization } })).status).toBe(401);
  });

  test("does not log the token, and its file is readable only by its owner", () => {
    expect(logged.join("")).not.toContain(listening.token);
    expect(statSync(join(folder, "admin.token")).mode & 0o777).toBe(0o600);
  });
});

async function fetchAnonymously(path: string): Promise<HttpAnswer> {
  const sent = request({ host: "127.0.0.1", port: listening.port, ca: listening.authority, path, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  const isJson = response.headers["content-type"] === "application/json";
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isJson && text !== "" ? JSON.parse(text) : text,
  };
}

describe("a request", () => {
  test("is read and answered as JSON", async () => {
    const created = await send(configMaps, {
      method: "POST",
      headers: json,
      body: '{"metadata":{"name":"a"},"data":{"k":"ü"}}',
    });
    expect(created).toMatchObject({ status: 201, body: { data: { k: "ü" } } });
    expect((await send(`${configMaps}/a`)).body).toEqual(created.body);
  });

  test.for([
    ["truncated JSON", '{"metadata":', 400],
    ["two values", "{}{}", 400],
    ["a number", "5", 400],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400],
    ["JSON deeper than anything", "[".repeat(100_000) + "]".repeat(100_000), 422],
    ["an object nested too deeply", `${'{"a":'.repeat(101)}1${"}".repeat(101)}`, 422],
    ["__proto__", '{"metadata":{"name":"p"},"data":{"__proto__":"x"}}', 400],
    ["a body over the limit", `{"data":{"a":"${"x".repeat(4 * 1024 * 1024)}"}}`, 413],
  ] as const)("is refused with %s", async ([, body, status]) => {
    const answer = await send(configMaps, { method: "POST", headers: json, body });
    expect(answer).toMatchObject({ status, body: { kind: "Status", status: "Failure", code: status } });
  });

  test.for([
    ["is not served", "/apis/apps/v1/namespaces/default/deployments", {}, 404],
    ["the caller may not make", configMaps, { "impersonate-user": "somebody" }, 403],
  ] as const)(
    "a body that cannot be read is not looked at when it is of something that %s",
    async ([, path, more, status]) => {
      const answer = await send(path, { method: "POST", headers: { ...json, ...more }, body: '{"metadata":' });
      expect(answer).toMatchObject({ status, body: { kind: "Status", code: status } });
    },
  );

  test("may be YAML, and is answered as YAML if the client asks for it", async () => {
    const created = await send(configMaps, {
      method: "POST",
      headers: { "content-type": "application/yaml", accept: "application/yaml" },
      body: "metadata:\n  name: yaml\ndata:\n  mode: '0644'\n",
    });
    expect(created).toMatchObject({ status: 201, headers: { "content-type": "application/yaml" } });
    expect(created.body).toContain('mode: "0644"');
    expect((await send(`${configMaps}/yaml`)).body.data).toEqual({ mode: "0644" });
  });

  test("with an object above the size limit is refused", async () => {
    const containers = [{ name: "main", image: "busybox", args: ["x".repeat(1.5 * 1024 * 1024)] }];
    const answer = await send("/api/v1/namespaces/default/pods", {
      method: "POST",
      headers: json,
      body: JSON.stringify({ metadata: { name: "large" }, spec: { containers } }),
    });
    expect(answer).toMatchObject({ status: 413, body: { reason: "RequestEntityTooLarge" } });
  });

  test("with more than 10,000 patch operations is refused", async () => {
    await send(configMaps, { method: "POST", headers: json, body: '{"metadata":{"name":"patched"}}' });
    const operations = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }));
    const patch = async (count: number): Promise<HttpAnswer> =>
      send(`${configMaps}/patched`, {
        method: "PATCH",
        headers: { "content-type": "application/json-patch+json" },
        body: JSON.stringify(operations.slice(0, count)),
      });
    expect((await patch(10_000)).status).toBe(200);
    expect(await patch(10_001)).toMatchObject({ status: 413, body: { reason: "RequestEntityTooLarge" } });
  });

  test("above the size limit is refused also without a Content-Length", async () => {
    const socket = await open();
    const answer = readAll(socket);
    socket.write(
      `POST ${configMaps} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${listening.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = "x".repeat(1024 * 1024);
    for (let at = 0; at < 5; at += 1) socket.write(`100000\r\n${chunk}\r\n`);
    expect(await answer).toContain("413");
  });

  test.for(["application/cbor", "application/x-www-form-urlencoded", "text/plain"])(
    "of type %s is refused",
    async (type) => {
      const answer = await send(configMaps, { method: "POST", headers: { "content-type": type }, body: "x" });
      expect(answer).toMatchObject({ status: 415, body: { reason: "UnsupportedMediaType" } });
    },
  );

  test.for([
    "/api/v1/namespaces/../../etc/passwd",
    "/api/v1/namespaces/%2e%2e/pods",
    "/api/v1/namespaces/default/pods/..%2f..%2fsecrets",
    "//api/v1/pods",
    "/api/v1/namespaces/default/pods/a%00b",
    "/openapi/v4",
    "/metrics/nothing",
    "/api/v2/pods",
    "/apis/apps/v1/deployments",
  ])("for %s is answered with 404", async (path) => {
    expect(await send(path)).toMatchObject({ status: 404, body: { kind: "Status", reason: "NotFound" } });
  });

  test.for(["HEAD", "OPTIONS", "TRACE", "PURGE"])("with method %s is refused", async (method) => {
    expect((await send(configMaps, { method })).status).toBe(405);
  });

  test("that ends in the middle of its body changes nothing", async () => {
    const socket = await open();
    socket.write(
      `POST ${configMaps} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${listening.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"metadata":{"name":"half"}`,
    );
    socket.destroy();
    await once(socket, "close");
    expect((await send(`${configMaps}/half`)).status).toBe(404);
  });

  test("that is not HTTP ends the connection", async () => {
    const socket = await open();
    const answer = readAll(socket);
    socket.write("\0\0\0 not http\r\n\r\n");
    expect(await answer).toMatch(/^(HTTP\/1.1 400|$)/);
    expect((await send("/healthz")).status).toBe(200);
  });

  test("with endless headers is refused", async () => {
    const socket = await open();
    const answer = readAll(socket);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${`X-Fill: ${"y".repeat(8000)}\r\n`.repeat(20)}`);
    // The server may close the connection before everything was sent, so the client may not see the response.
    expect(await answer).toMatch(/^(HTTP\/1.1 431|$)/);
    expect((await send("/healthz")).status).toBe(200);
  });
});

describe("a backup over HTTPS", () => {
  const backup = "/agent-sandbox/backup";

  test("is allowed only for superusers", async () => {
    expect((await fetchAnonymously(backup)).status).toBe(401);
    const asCluster = { "impersonate-user": "jane", "impersonate-group": "system:authenticated" };
    expect((await send(backup, { headers: asCluster })).status).toBe(403);
    expect((await send(backup, { method: "POST" })).status).toBe(405);
  });

  test("is compressed and complete", async () => {
    const answer = await send(backup);
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/octet-stream" } });
    expect(answer.body.length).toBeGreaterThan(100);
  });
});

describe("watches over HTTPS", () => {
  test("send one line for each event and end when the client disconnects", async () => {
    const sent = request({
      host: "127.0.0.1",
      port: listening.port,
      ca: listening.authority,
      path: `${configMaps}?watch=true&labelSelector=w`,
      agent: false,
      headers: { authorization: `Bearer ${listening.token}` },
    }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.headers).toMatchObject({ "content-type": "application/json", "transfer-encoding": "chunked" });
    await send(configMaps, { method: "POST", headers: json, body: '{"metadata":{"name":"seen","labels":{"w":"1"}}}' });
    const [line] = (await once(response, "data")) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ type: "ADDED", object: { metadata: { name: "seen" } } });
    sent.destroy();
  });

  test("are answered with status 410 when their revision is too old", async () => {
    const answer = await send(`${configMaps}?watch=true&resourceVersion=999999`);
    expect(answer).toMatchObject({ status: 504, headers: { "retry-after": "1" } });
  });

  test("of a client that does not read are closed and delay nobody", async () => {
    const own = await createApiServer({ history: { maxChanges: 64, maxAgeMs: 60_000 } });
    const { port, authority, token } = await own.listen();
    const socket = connect({ host: "127.0.0.1", port, ca: authority });
    await once(socket, "secureConnect");
    socket.pause();
    socket.write(
      `GET ${configMaps}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    await once(socket, "readable");
    const value = "x".repeat(100_000);
    await own.transport.send({ method: "POST", path: configMaps, body: { metadata: { name: "big" } } });
    for (let at = 0; at < 300; at += 1) {
      const headers = { "content-type": "application/merge-patch+json" };
      await own.transport.send({
        method: "PATCH",
        path: `${configMaps}/big`,
        headers,
        body: { data: { at: String(at), value } },
      });
    }
    const text = await readAll(socket.resume());
    expect(text).toContain('"reason":"Expired"');
    expect(text.length).toBeLessThan(300 * value.length);
    await own.close();
  });
});

test("closing ends watches and frees the port", async () => {
  const own = await createApiServer();
  const { port, authority, token } = await own.listen();
  const sent = request({
    host: "127.0.0.1",
    port,
    ca: authority,
    path: `${configMaps}?watch=true`,
    headers: { authorization: `Bearer ${token}` },
  }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  const ended = once(response, "end");
  await own.close();
  await ended;
  const again = await createApiServer();
  expect((await again.listen({ port })).port).toBe(port);
  await again.close();
});

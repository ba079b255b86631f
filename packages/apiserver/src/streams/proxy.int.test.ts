import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { request } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import type { PodStreams } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";

const namespace = "/api/v1/namespaces/default";
const seen: IncomingMessage[] = [];
let inside: Server;
let server: ApiServer;
let listening: Listening;

/** Port 8080 of any Pod is the web server of this test; other ports refuse connections. */
const podStreams: PodStreams = {
  exec: () => Promise.reject(new Error("not here")),
  portForward: async ({ port }) => {
    if (port !== 8080)
      throw Object.assign(new Error(`nobody listens on port ${port}`), { reason: "ServiceUnavailable" });
    const socket = connect((inside.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  },
};

async function answer(
  incoming: IncomingMessage,
): Promise<{ status: number; headers?: Record<string, string>; body: string }> {
  const url = incoming.url ?? "";
  if (url === "/moved") return { status: 302, headers: { location: "/else?a=1" }, body: "" };
  if (url === "/away") return { status: 302, headers: { location: "https://example.org/x" }, body: "" };
  if (url === "/cut") {
    incoming.socket.destroy();
    return { status: 200, body: "" };
  }
  return { status: 200, body: `${incoming.method} ${url} ${(await text(incoming)).length}` };
}

beforeAll(async () => {
  inside = createServer((incoming, outgoing) => {
    seen.push(incoming);
    void answer(incoming).then(({ status, headers, body }) => outgoing.writeHead(status, headers).end(body));
  });
  const sockets = new WebSocketServer({ noServer: true });
  inside.on("upgrade", (incoming, socket, head) =>
    sockets.handleUpgrade(incoming, socket, head, (client) => client.on("message", (data) => client.send(data))),
  );
  await once(inside.listen(0, "127.0.0.1"), "listening");
  server = await createApiServer({ podStreams, nodeName: "box" });
  listening = await server.listen();
  await setUp();
});

async function setUp(): Promise<void> {
  const send = async (method: "POST" | "PATCH", path: string, body: object): Promise<void> => {
    const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    const { status } = await server.transport.send({ method, path: `${namespace}/${path}`, headers, body });
    expect(status).toBeLessThan(300);
  };
  const ports = [{ name: "web", containerPort: 8080 }];
  for (const name of ["p", "proxy", "sleeping"]) {
    const spec = { containers: [{ name: "main", image: "x", ports }] };
    await send("POST", "pods", { metadata: { name, labels: { app: name === "sleeping" ? "none" : "web" } }, spec });
    const conditions = [{ type: "Ready", status: "True" }];
    if (name !== "sleeping") await send("PATCH", `pods/${name}/status`, { status: { phase: "Running", conditions } });
  }
  const spec = { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "web" }] };
  await send("POST", "services", { metadata: { name: "s" }, spec });
  await send("POST", "services", { metadata: { name: "idle" }, spec: { ...spec, selector: { app: "none" } } });
}

afterAll(async () => {
  await server.close();
  inside.closeAllConnections();
  inside.close();
});

interface Asked {
  readonly method?: string;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
}

async function ask(path: string, { method = "GET", body, headers = {} }: Asked = {}) {
  const sent = request({
    host: "127.0.0.1",
    port: listening.port,
    ca: listening.authority,
    path: `${namespace}/${path}`,
    method,
    headers: { authorization: `Bearer ${listening.token}`, ...headers },
  }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

describe("proxy", () => {
  test.each([
    ["pods/p:8080/proxy/a/b?c=%20d", "GET /a/b?c=%20d 0"],
    ["pods/p/proxy", "GET / 0"],
    ["pods/http:p:8080/proxy/", "GET / 0"],
    ["pods/proxy:8080/proxy/proxy/x", "GET /proxy/x 0"],
    ["services/s/proxy/x", "GET /x 0"],
    ["services/s:80/proxy/x", "GET /x 0"],
    ["services/s:http/proxy/x", "GET /x 0"],
  ])("%s reaches the web server in the Pod", async (path, body) => {
    expect(await ask(path)).toMatchObject({ status: 200, body });
  });

  test("forwards bodies unchanged, also above the limit for objects", async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, "x");
    const headers = { "content-type": "application/x-anything" };
    const answer = await ask("pods/p:8080/proxy/up", { method: "PUT", body, headers });
    expect(answer).toMatchObject({ status: 200, body: `PUT /up ${body.length}` });
  });

  test("does not forward the caller's credentials, and adds X-Forwarded headers", async () => {
    await ask("pods/p:8080/proxy/who", { headers: { "impersonate-user": "", "x-forwarded-uri": "/lie" } });
    await ask("pods/p:8080/proxy/who");
    const { headers } = seen.findLast(({ url }) => url === "/who") as IncomingMessage;
    expect(headers.authorization).toBeUndefined();
    expect(headers["x-forwarded-uri"]).toBe(`${namespace}/pods/p:8080/proxy/who`);
  });

  test("rewrites redirects within the Pod but not to other hosts", async () => {
    const { headers } = await ask("pods/p:8080/proxy/moved");
    expect(headers.location).toBe(`${namespace}/pods/p:8080/proxy/else?a=1`);
    expect((await ask("pods/p:8080/proxy/away")).headers.location).toBe("https://example.org/x");
  });

  test.each([
    ["pods/p:9/proxy/", 503, "nobody listens on port 9"],
    ["pods/p:8080/proxy/cut", 503, "error trying to reach the pod"],
    ["pods/q:8080/proxy/", 404, "not found"],
    ["pods/p:0/proxy/", 400, "invalid port"],
    ["pods/p:70000/proxy/", 400, "invalid port"],
    ["pods/ftp:p:8080/proxy/", 400, "invalid request"],
    ["pods/a:b:c:d/proxy/", 400, "invalid request"],
    ["services/none/proxy/", 404, "not found"],
    ["services/s:81/proxy/", 503, "no service port"],
    ["services/idle/proxy/", 503, "no endpoints available"],
    ["configmaps/p/proxy/", 405, "Cannot proxy"],
  ])("%s is refused with %i: %s", async (path, status, message) => {
    const answer = await ask(path);
    expect(answer.status).toBe(status);
    expect((JSON.parse(answer.body) as { message: string }).message).toContain(message);
  });

  test("needs permission", async () => {
    const stranger = await ask("pods/p:8080/proxy/secret", { headers: { authorization: "Bearer wrong" } });
    expect(stranger.status).toBe(401);
    const other = await ask("pods/p:8080/proxy/secret", { headers: { "impersonate-user": "nobody" } });
    expect(other.status).toBe(403);
    expect(seen.some(({ url }) => url === "/secret")).toBe(false);
  });

  test("proxies WebSockets", async () => {
    const url = `wss://127.0.0.1:${listening.port}${namespace}/pods/p:8080/proxy/socket`;
    const headers = { authorization: `Bearer ${listening.token}` };
    const client = new WebSocket(url, { ca: listening.authority, headers });
    await once(client, "open");
    client.send("echo");
    const [data] = (await once(client, "message")) as [Buffer];
    expect(data.toString()).toBe("echo");
    client.close();
    await once(client, "close");
  });
});

import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { connect } from "node:net";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { secrets } from "./cluster/resources.ts";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const port = 8080;
const cluster = new TestCluster();
let router: Router;
beforeAll(async () => {
  router = await cluster.router();
});
afterEach(() => {
  cluster.api.watchDelayMs = undefined;
});
afterAll(() => cluster[Symbol.asyncDispose]());

const injected = (name: string): Promise<Sandbox> => cluster.sandbox(name, { spec: { runtime: "Injected" } });
const reasonOf = (text: string): unknown => (JSON.parse(text) as { reason?: unknown }).reason;

interface RuntimeOptions {
  readonly listener?: RequestListener;
  /** Awaited before a request is refused. */
  readonly onRefuse?: () => Promise<void>;
}

interface Runtime extends Served {
  /** Methods of all received requests, including refused ones. */
  readonly came: string[];
}

const refusal = '{"code":"MISDIRECTED","message":"this sandbox is another"}';

/** Like the injected runtime, refuses requests for other sandboxes. */
async function runtime(own: string | undefined, options: RuntimeOptions = {}): Promise<Runtime> {
  const came: string[] = [];
  const serve = options.listener ?? ((_, response) => response.end("mine"));
  const refuse = async (end: () => void): Promise<void> => {
    await options.onRefuse?.();
    end();
  };
  const isMeant = ({ headers, method = "" }: IncomingMessage): boolean => {
    came.push(method);
    return headers["x-sandbox-uid"] === own;
  };
  const listener: RequestListener = (request, response) =>
    isMeant(request) ? serve(request, response) : void refuse(() => response.writeHead(421).end(refusal));
  const served = await cluster.serve(listener, { port });
  served.server.on("upgrade", (request, socket) => {
    if (!isMeant(request)) return void refuse(() => socket.end("HTTP/1.1 421 Other\r\nContent-Length: 0\r\n\r\n"));
    socket.write("HTTP/1.1 101 Switching ProtocolServer\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    socket.pipe(socket);
  });
  return { ...served, came };
}

/** A sandbox whose Pod has moved when the first request reaches its old address. The watch reports that later. */
async function moving(name: string): Promise<{ old: Runtime; now: Runtime }> {
  const sandbox = await injected(name);
  const now = await runtime(sandbox.metadata.uid);
  const move = async (): Promise<void> => {
    cluster.api.watchDelayMs = () => 50;
    await cluster.removePod(`${name}-old`);
    await cluster.pod(sandbox, now.ip, { name: `${name}-new` });
  };
  const old = await runtime("another", { onRefuse: move });
  await cluster.pod(sandbox, old.ip, { name: `${name}-old` });
  return { old, now };
}

test("sends the Sandbox's UID to the runtime only", async () => {
  const echo: RequestListener = (request, response) => response.end(JSON.stringify(request.headers));
  const sandbox = await injected("named");
  const { uid = "" } = sandbox.metadata;
  const inside = await runtime(uid, { listener: echo });
  const beside = await cluster.serve(echo, { ip: inside.ip });
  await cluster.pod(sandbox, inside.ip);
  const seen = async (at: number) => {
    const { text } = await ask(router, "/", toSandbox("named", at, { X_Sandbox_UID: "spoofed" }));
    const headers = JSON.parse(text) as Record<string, string>;
    return Object.keys(headers).flatMap((name) => (/^x.sandbox/.test(name) ? [`${name}=${headers[name]}`] : []));
  };
  expect([await seen(port), await seen(beside.port)]).toEqual([[`x-sandbox-uid=${uid}`], []]);
});

test("sends a request once more if the runtime belongs to another sandbox", async () => {
  const { old, now } = await moving("moved");
  const { status, text } = await ask(router, "/", toSandbox("moved", port));
  expect([status, text, old.came, now.came]).toEqual([200, "mine", ["GET"], ["GET"]]);
});

test("does not repeat a request with a body", async () => {
  const { old, now } = await moving("moved-body");
  const { status, text } = await ask(router, "/", { ...toSandbox("moved-body", port), method: "POST", body: "run" });
  expect([status, reasonOf(text), old.came, now.came]).toEqual([502, "Unreachable", ["POST"], []]);
  expect(text).not.toContain("another");
  const again = await ask(router, "/", { ...toSandbox("moved-body", port), method: "POST", body: "run" });
  expect([again.status, now.came]).toEqual([200, ["POST"]]);
});

test("fails after a second misdirected response without revealing the other sandbox", async () => {
  const sandbox = await injected("nowhere");
  const wrong = await runtime("another");
  await cluster.pod(sandbox, wrong.ip);
  const { status, text, headers } = await ask(router, "/", toSandbox("nowhere", port));
  expect([status, reasonOf(text), headers["x-sandbox-reason"], wrong.came.length]).toEqual([
    502,
    "Unreachable",
    "Unreachable",
    2,
  ]);
  expect(text).not.toContain("another");
});

test("relays a 401 of the runtime and reads the token again for the next request", async () => {
  const sandbox = await injected("rotated");
  const listener: RequestListener = (request, response) =>
    response.writeHead(request.headers["x-sandbox-token"] === "new" ? 200 : 401).end();
  const own = await runtime(sandbox.metadata.uid, { listener });
  await cluster.pod(sandbox, own.ip);
  await cluster.runtimeToken(sandbox, "old");
  const status = async () => (await ask(router, "/", toSandbox("rotated", port))).status;
  const before = await status();
  await cluster.client.delete(secrets, { namespace: "default", name: "rotated-runtime" });
  await cluster.runtimeToken(sandbox, "new");
  expect([before, await status(), own.came.length]).toEqual([401, 200, 2]);
});

test("does not repeat a request that the runtime accepted", async () => {
  const sandbox = await injected("fragile");
  const own = await runtime(sandbox.metadata.uid, { listener: (request) => request.socket.destroy() });
  await cluster.pod(sandbox, own.ip);
  const { status, text } = await ask(router, "/", toSandbox("fragile", port));
  expect([status, reasonOf(text), own.came]).toEqual([502, "BadUpstream", ["GET"]]);
});

test("relays a 421 of a sandbox without an injected runtime", async () => {
  let came = 0;
  const plain = await cluster.serve((_, response) => {
    came += 1;
    response.writeHead(421).end("not here");
  });
  await cluster.pod(await injected("own-business"), plain.ip);
  const { status, text } = await ask(router, "/", toSandbox("own-business", plain.port));
  expect([status, text, came]).toEqual([421, "not here", 1]);
});

test("repeats a misdirected WebSocket upgrade with the bytes that the client has sent", async () => {
  const { old, now } = await moving("moved-socket");
  const { host, port: at } = router.address ?? { host: "", port: 0 };
  const caller = connect(at, host);
  const head = ["GET / HTTP/1.1", "Host: x", "X-Sandbox-ID: moved-socket", `X-Sandbox-Port: ${port}`];
  caller.write(`${[...head, "Connection: upgrade", "Upgrade: websocket"].join("\r\n")}\r\n\r\nhello`);
  let said = "";
  for await (const chunk of caller) {
    said += String(chunk);
    if (said.endsWith("hello")) break;
  }
  expect(said).toMatch(/^HTTP\/1.1 101 [^]*hello$/);
  expect([old.came, now.came]).toEqual([["GET"], ["GET"]]);
});

test("reports a misdirected gRPC call as unavailable without revealing the other sandbox", async () => {
  const sandbox = await injected("moved-grpc");
  const ip = TestCluster.nextIp();
  const wrong = createHttp2Server().on("stream", (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    const message = "Cannot serve X-Sandbox-UID: this is another sandbox";
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "9", "grpc-message": message }));
    stream.end();
  });
  cluster.use({ [Symbol.dispose]: () => void wrong.close() });
  await once(wrong.listen({ host: ip, port: 9090 }), "listening");
  await cluster.pod(sandbox, ip);
  const session = connectHttp2(router.url);
  const named = { "x-sandbox-id": "moved-grpc", "x-sandbox-port": "9090" };
  const call = session.request({ ":method": "POST", ":path": "/p.S/M", "content-type": "application/grpc", ...named });
  call.end();
  call.resume();
  const [trailers] = (await once(call, "trailers")) as [Record<string, unknown>];
  session.destroy();
  expect([trailers["grpc-status"], String(trailers["grpc-message"])]).toEqual([
    "14",
    expect.not.stringContaining("another"),
  ]);
});

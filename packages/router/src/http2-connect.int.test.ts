import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { lastActivityAnnotation, type Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import { openRawStream } from "./raw-http2.test.support.ts";
import type { Router } from "./start-router.ts";
import { WebSocketEnd } from "./websocket-client.test.support.ts";

const cluster = new TestCluster();
const mebibyte = 2 ** 20;
let router: Router;
let pod: Served;
let sandbox: Sandbox;
let session: ClientHttp2Session;
/** The sandbox's ends of the WebSockets, in order of arrival. */
const arrivals: WebSocket[] = [];

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.end("a page"));
  const sockets = new WebSocketServer({ server: pod.server, maxPayload: 0, handleProtocols: () => "chat" });
  sockets.on("connection", (socket, { headers }) => {
    arrivals.push(socket);
    if (headers["x-tell"] !== undefined) socket.send(JSON.stringify(headers));
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  sandbox = await cluster.sandbox("box");
  await cluster.pod(sandbox, pod.ip);
  router = await cluster.router({ timeoutMs: 400 });
  session = await sessionWith(router);
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function sessionWith(
  to: Router,
  socket: Socket = connect(to.address?.port ?? 0, to.address?.host),
): Promise<ClientHttp2Session> {
  const made = connectHttp2(to.url, { createConnection: () => socket });
  made.on("error", () => undefined);
  cluster.use({ [Symbol.dispose]: () => made.destroy() });
  if (!made.remoteSettings.enableConnectProtocol) await once(made, "remoteSettings");
  return made;
}

interface Opened {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { ":status"?: number };
}

async function open(headers: Record<string, string>, on: ClientHttp2Session = session): Promise<Opened> {
  const stream = on.request({ ":method": "CONNECT", ...headers }, { endStream: false });
  stream.on("error", () => undefined);
  const [received] = (await once(stream, "response")) as [Opened["headers"]];
  return { stream, headers: received };
}

const webSocket = (name = "box", more: Record<string, string> = {}): Record<string, string> => ({
  ":protocol": "websocket",
  ":scheme": "http",
  ":path": "/chat",
  ":authority": "router",
  "sec-websocket-version": "13",
  ...toSandbox(name, pod.port).headers,
  ...more,
});

/** Status and reason of an error response, and whether the stream has ended. */
async function refusal({ stream, headers }: Opened): Promise<(number | string | undefined)[]> {
  const { reason } = JSON.parse(await text(stream)) as { reason?: string };
  if (!stream.closed) await once(stream, "close");
  return [headers[":status"], reason ?? String(headers["x-sandbox-reason"])];
}

/** The value when it no longer changes. */
async function settled(read: () => number): Promise<number> {
  for (let before = -1; ; ) {
    const now = read();
    if (now === before && now > 0) return now;
    before = now;
    await sleep(150);
  }
}

describe("a WebSocket over HTTP/2", () => {
  test("reaches the sandbox as an HTTP/1.1 upgrade with the right headers", async () => {
    const { stream, headers } = await open(
      webSocket("box", {
        "x-tell": "1",
        origin: "http://elsewhere",
        authorization: "Bearer mine",
        "x-sandbox-token": "spoofed",
        x_sandbox_token: "spoofed",
        "x-forwarded-for": "6.6.6.6",
        "sec-websocket-key": "bWluZSBpcyBub3QgdXNlZA==",
        "sec-websocket-protocol": "chat, other",
      }),
    );
    expect([headers[":status"], headers["sec-websocket-protocol"]]).toEqual([200, "chat"]);
    for (const name of ["sec-websocket-accept", "connection", "upgrade"]) expect(headers[name]).toBeUndefined();
    const end = new WebSocketEnd(stream);
    const seen = JSON.parse(await end.text()) as Record<string, string>;
    expect(seen).toMatchObject({
      upgrade: "websocket",
      connection: "upgrade",
      "sec-websocket-version": "13",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "router",
    });
    expect(seen["sec-websocket-key"]).not.toBe("bWluZSBpcyBub3QgdXNlZA==");
    for (const name of ["origin", "authorization", "x-sandbox-token", "x_sandbox_token", "x-sandbox-id"]) {
      expect(seen[name]).toBeUndefined();
    }
    stream.close();
  });

  test("transfers 16 MiB and one byte in both directions and its close code", async () => {
    const { stream } = await open(webSocket());
    const end = new WebSocketEnd(stream);
    const sent = Buffer.alloc(16 * mebibyte + 1, 7);
    end.send(sent);
    expect((await end.next()).data.equals(sent)).toBe(true);
    end.close(4001, "done");
    const { opcode, data } = await end.next();
    expect([opcode, data.readUInt16BE(), data.subarray(2).toString()]).toEqual([8, 4001, "done"]);
    stream.end();
    await once(stream.resume(), "close");
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("may be idle beyond the request timeout, beside other streams", async () => {
    const ends = await Promise.all([1, 2, 3].map(async () => new WebSocketEnd((await open(webSocket())).stream)));
    await sleep(600);
    for (const [index, end] of ends.entries()) end.send(`still here ${index}`);
    expect(await Promise.all(ends.map((end) => end.text()))).toEqual(["still here 0", "still here 1", "still here 2"]);
  });

  test("wakes a sleeping sandbox and waits until it is ready", async () => {
    const sleeper = await cluster.sandbox("sleeper", { spec: { idlePolicy: { suspendAfterSeconds: 600 } } });
    await cluster.suspendIdle(sleeper);
    const patient = await cluster.router({ retries: { firstDelayMs: 5, maxDelayMs: 20 } });
    let wakes = 0;
    cluster.api.onChange(({ object: { metadata } }) => {
      const isWake = metadata?.annotations?.[lastActivityAnnotation] !== undefined;
      if (metadata?.name !== "sleeper" || !isWake || (wakes += 1) > 1) return;
      const conditions = [{ type: "Suspended", status: "False", reason: "NotSuspended", message: "" }];
      void cluster.sandboxStatus(sleeper, { conditions }).then(() => cluster.pod(sleeper, pod.ip));
    });
    const { stream, headers } = await open(webSocket("sleeper"), await sessionWith(patient));
    const end = new WebSocketEnd(stream);
    end.send("good morning");
    expect([headers[":status"], await end.text()]).toEqual([200, "good morning"]);
  });

  test.for([
    ["resets it", "slow-a", (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["hangs up", "slow-b", (_: ClientHttp2Stream, socket: Socket) => socket.destroy()],
  ] as const)("is dropped from those that wait when its caller %s", async ([, name, leave]) => {
    await cluster.pod(await cluster.sandbox(name), pod.ip, { ready: false });
    const patient = await cluster.router();
    const socket = connect(patient.address?.port ?? 0, patient.address?.host);
    const stream = (await sessionWith(patient, socket)).request({ ":method": "CONNECT", ...webSocket(name) });
    stream.on("error", () => undefined);
    await expect.poll(() => patient.metrics()).toMatch(/sandbox_router_waiting_requests 1/);
    leave(stream, socket);
    await expect.poll(() => patient.metrics()).toMatch(/sandbox_router_waiting_requests 0/);
  });

  test("gets a close frame when the router stops, between two frames", async () => {
    const leaving = await cluster.router({ shutdownMs: 5000 });
    const { stream } = await open(webSocket(), await sessionWith(leaving));
    const end = new WebSocketEnd(stream);
    end.send("x".repeat(100_000));
    await end.next();
    const gone = leaving[Symbol.asyncDispose]();
    const { opcode, data } = await end.next();
    expect([opcode, data.readUInt16BE()]).toEqual([8, 1001]);
    stream.end();
    stream.resume();
    await gone;
  });

  test("counts towards the caller's limit", async () => {
    const strict = await sessionWith(await cluster.router({ limits: { connectionsPerCaller: 1 } }));
    const first = await open(webSocket(), strict);
    expect(await refusal(await open(webSocket(), strict))).toEqual([429, "CallerLimit"]);
    first.stream.close();
    await expect.poll(async () => (await open(webSocket(), strict)).headers[":status"]).toBe(200);
  });

  test("requires a credential", async () => {
    cluster.users.set("alices", { username: "alice", mayConnect: ["default/box"] });
    const guarded = await sessionWith(await cluster.router({ auth: {} }));
    const as = async (token: string | undefined) =>
      open(webSocket("box", token === undefined ? {} : { authorization: `Bearer ${token}` }), guarded);
    expect(await refusal(await as(undefined))).toEqual([401, "Unauthenticated"]);
    expect(await refusal(await as("forged"))).toEqual([401, "Unauthenticated"]);
    expect((await as("alices")).headers[":status"]).toBe(200);
  });

  test.for([
    ["another protocol", () => webSocket("box", { ":protocol": "connect-udp" }), [501, "UnknownProtocol"]],
    ["no sandbox of that name", () => webSocket("no-such"), [404, "SandboxNotFound"]],
    ["two targets", () => webSocket("box", { ":authority": "other.default.localhost" }), [400, "InvalidRequest"]],
    ["a second host", () => webSocket("box", { host: "other" }), [400, "InvalidRequest"]],
    ["a name that is none", () => webSocket("../box"), [400, "InvalidRequest"]],
  ] as const)("to %s is refused", async ([, headers, expected]) => {
    expect(await refusal(await open(headers()))).toEqual(expected);
  });

  test.for([
    ["answers as if it were any request", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", [502, "BadUpstream"]],
    [
      "agrees without the proof",
      "HTTP/1.1 101 Switching ProtocolServer\r\nUpgrade: websocket\r\n\r\n",
      [502, "BadUpstream"],
    ],
    [
      "agrees with a wrong proof",
      "HTTP/1.1 101 Switching ProtocolServer\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
      [502, "BadUpstream"],
    ],
    ["hangs up", "", [502, "BadUpstream"]],
  ] as const)("is not taken for open when the sandbox %s", async ([, answer, expected]) => {
    const port = await listen((socket) => socket.once("data", () => socket.end(answer)));
    expect(await refusal(await open(webSocket("box", { "X-Sandbox-Port": String(port) })))).toEqual(expected);
  });

  test("gets the sandbox's error response", async () => {
    const shut = await cluster.serve((_, response) => response.writeHead(403, { "x-why": "no" }).end("not you"), {
      ip: pod.ip,
    });
    const { stream, headers } = await open(webSocket("box", { "X-Sandbox-Port": String(shut.port) }));
    expect([headers[":status"], headers["x-why"], await text(stream)]).toEqual([403, "no", "not you"]);
  });
});

/** Resolves when the stream is closed, for whatever reason. */
function over(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => void stream.resume().on("close", resolve));
}

/** Reads until the other side stops sending. The stream stays open in the other direction. */
async function all(line: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  line.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(line, "end");
  return Buffer.concat(chunks).toString();
}

/** A server in the sandbox that does not use HTTP. */
async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  cluster.use({ [Symbol.dispose]: () => void server.close() });
  server.listen({ host: pod.ip, port: 0 });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

describe("a tunnel over HTTP/2", () => {
  const to = (port: number, host = "box.default.localhost") => ({ ":authority": `${host}:${port}` });

  test.for([
    ["by host name", (port: number) => to(port)],
    ["by headers", (port: number) => ({ ...to(port, "ignored.example"), "x-sandbox-id": "box" })],
  ] as const)("carries bytes both ways after either has stopped sending, %s", async ([, headers]) => {
    const asksFirst = await listen((socket) => {
      void all(socket).then((said) => socket.end(`got ${said}`));
    });
    const { stream: first } = await open(headers(asksFirst));
    first.end("hello");
    expect(await all(first)).toBe("got hello");
    const heard = Promise.withResolvers<string>();
    const speaksFirst = await listen((socket) => {
      void all(socket).then(heard.resolve);
      socket.end("bye");
    });
    const { stream: second } = await open(headers(speaksFirst));
    expect(await all(second)).toBe("bye");
    second.end("still talking");
    expect(await heard.promise).toBe("still talking");
  });

  test("applies backpressure to the sandbox if the client does not read, without losing bytes", async () => {
    const total = 64 * mebibyte;
    let sent = 0;
    const port = await listen((socket) => {
      const more = (): void => {
        for (let isFree = true; isFree && sent < total; ) {
          sent += mebibyte;
          isFree = socket.write(Buffer.alloc(mebibyte));
        }
        if (sent >= total) socket.end();
      };
      socket.on("drain", more);
      more();
    });
    const { stream } = await open(to(port));
    expect(await settled(() => sent)).toBeLessThan(total / 2);
    let received = 0;
    for await (const chunk of stream) received += (chunk as Buffer).length;
    expect(received).toBe(total);
  });

  test("applies backpressure to the client if the sandbox does not read, without losing bytes", async () => {
    const total = 64 * mebibyte;
    let [received, gone] = [0, 0];
    const ends = Promise.withResolvers<Socket>();
    const port = await listen((socket) => {
      socket.on("data", (chunk: Buffer) => (received += chunk.length));
      setImmediate(() => ends.resolve(socket.pause()));
    });
    const { stream } = await open(to(port));
    const socket = await ends.promise;
    for (let left = total; left > 0; left -= mebibyte) {
      stream.write(Buffer.alloc(mebibyte), () => (gone += mebibyte));
    }
    expect(await settled(() => gone)).toBeLessThan(total / 2);
    socket.resume();
    stream.end();
    await once(socket, "end");
    expect(received).toBe(total);
    stream.close();
  });

  // Node's client ends a stream before it resets it. Only the loss of its connection leaves it without an end.
  test("is reset at the sandbox when the client is lost", async () => {
    const [arrived, ended] = [Promise.withResolvers<unknown>(), Promise.withResolvers<string>()];
    const port = await listen((socket) => {
      socket.once("data", arrived.resolve);
      socket.on("error", ({ code }: NodeJS.ErrnoException) => ended.resolve(code ?? ""));
      socket.on("end", () => ended.resolve("as if it were whole"));
      socket.resume();
    });
    const own = connect(router.address?.port ?? 0, router.address?.host);
    const { stream } = await open(to(port), await sessionWith(router, own));
    stream.write("half of it");
    await arrived.promise;
    own.destroy();
    expect(await ended.promise).toBe("ECONNRESET");
  });

  test("is reset for the client when the sandbox resets it or its pod is gone", async () => {
    const port = await listen((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const { stream } = await open(to(port));
    stream.write("x");
    await over(stream);
    const other = await cluster.serve((_, response) => response.end());
    await cluster.pod(await cluster.sandbox("brief"), other.ip);
    await expect.poll(async () => (await ask(router, "/", toSandbox("brief", other.port))).status).toBe(200);
    const { stream: second } = await open(to(other.port, "brief.default.localhost"));
    await cluster.removePod("brief");
    await over(second);
    expect([stream, second].map(({ readableEnded }) => readableEnded)).toEqual([false, false]);
    expect([stream, second].map(({ rstCode }) => rstCode)).toEqual(Array(2).fill(constants.NGHTTP2_INTERNAL_ERROR));
  });

  test.for([
    "example.com:80",
    "127.0.0.1:22",
    "169.254.169.254:80",
    "box.default.localhost:0",
    "box.default.localhost",
  ])("goes nowhere but to sandboxes: %s", async (authority) => {
    expect(await refusal(await open({ ":authority": authority }))).toEqual([400, "InvalidRequest"]);
  });

  test("reports that nothing listens on the port", async () => {
    expect(await refusal(await open(to(1)))).toEqual([502, "Refused"]);
  });
});

describe("invalid CONNECT requests", () => {
  const [method, scheme, path, authority, protocol] = [
    [":method", "CONNECT"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "box.default.localhost:80"],
    [":protocol", "websocket"],
  ] as const;

  test.for([
    ["a protocol without a path", [method, scheme, authority, protocol]],
    ["a protocol without a scheme", [method, path, authority, protocol]],
    ["a protocol without an authority", [method, scheme, path, protocol]],
    ["a protocol for another method", [[":method", "GET"], scheme, path, authority, protocol]],
    ["two protocols", [method, scheme, path, authority, protocol, protocol]],
    ["a tunnel without an authority", [method]],
    ["a tunnel with a path", [method, scheme, path, authority]],
    ["a connection header", [method, authority, ["connection", "upgrade"]]],
    ["a pseudo-header behind the others", [method, ["x-a", "b"], authority]],
    ["a pseudo-header nobody knows", [method, authority, [":sandbox", "box"]]],
  ] as const)("%s is a stream error, and nothing else happens", async ([, headers]) => {
    const { host = "", port = 0 } = router.address ?? {};
    expect(await openRawStream({ host, port }, headers)).toBe(`reset ${constants.NGHTTP2_PROTOCOL_ERROR}`);
    expect((await ask(router, "/healthz")).status).toBe(200);
  });
});

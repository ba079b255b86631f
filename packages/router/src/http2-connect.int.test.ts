import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { lastActivityAnnotation, type Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import { connectSession, listenInPod, type Opened, openStream, refusal } from "./http2-connect.test.support.ts";
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

const sessionWith = (to: Router, socket?: Socket): Promise<ClientHttp2Session> => connectSession(cluster, to, socket);
const open = (headers: Record<string, string>, on = session): Promise<Opened> => openStream(on, headers);

const webSocket = (name = "box", more: Record<string, string> = {}): Record<string, string> => ({
  ":protocol": "websocket",
  ":scheme": "http",
  ":path": "/chat",
  ":authority": "router",
  "sec-websocket-version": "13",
  ...toSandbox(name, pod.port).headers,
  ...more,
});

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
    const port = await listenInPod(cluster, pod.ip, (socket) => socket.once("data", () => socket.end(answer)));
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

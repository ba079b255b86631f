import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import { connectSession, listenInPod, type Opened, openStream, refusal } from "./http2-connect.test.support.ts";
import { openRawStream } from "./raw-http2.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
const mebibyte = 2 ** 20;
let router: Router;
let pod: Served;

let session: ClientHttp2Session;

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.end("a page"));
  const sandbox = await cluster.sandbox("box");
  await cluster.pod(sandbox, pod.ip);
  router = await cluster.router({ timeoutMs: 400 });
  session = await sessionWith(router);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const sessionWith = (to: Router, socket?: Socket): Promise<ClientHttp2Session> => connectSession(cluster, to, socket);
const open = (headers: Record<string, string>, on = session): Promise<Opened> => openStream(on, headers);

/** The value when it no longer changes. */
async function settled(read: () => number): Promise<number> {
  for (let before = -1; ; ) {
    const now = read();
    if (now === before && now > 0) return now;
    before = now;
    await sleep(150);
  }
}

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

const listen = (onSocket: (socket: Socket) => void): Promise<number> => listenInPod(cluster, pod.ip, onSocket);

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

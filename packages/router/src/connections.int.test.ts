import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { ask, endless, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.writeHead(404).end("no page"));
  const sockets = new WebSocketServer({ server: pod.server, maxPayload: 0 });
  sockets.on("connection", (socket, { headers }) => {
    if (headers["x-tell"] !== undefined) socket.send(JSON.stringify(headers));
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ timeoutMs: 400 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const socketTo = (path: string, headers: Record<string, string> = {}): WebSocket =>
  new WebSocket(`ws://127.0.0.1:${router.address?.port}${path}`, {
    headers: { ...toSandbox("box", pod.port).headers, ...headers },
  });

/** A TCP connection to the router. */
const dial = (): Socket => connect(router.address?.port ?? 0, "127.0.0.1");

async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("latin1");
}

describe("a WebSocket", () => {
  test("reaches the sandbox with the right headers", async () => {
    const socket = socketTo("/socket", {
      "X-Tell": "1",
      "X-Sandbox-Token": "spoofed",
      Origin: "http://x",
      Authorization: "Bearer t",
    });
    const [data] = (await once(socket, "message")) as [Buffer];
    const headers = JSON.parse(data.toString()) as Record<string, string>;
    const { "x-sandbox-token": token, "x-sandbox-id": id, origin, authorization, upgrade, host } = headers;
    expect([token, id, origin, authorization]).toEqual([undefined, undefined, undefined, undefined]);
    expect([upgrade, host, headers["x-forwarded-for"]]).toEqual(["websocket", `${pod.ip}:${pod.port}`, "127.0.0.1"]);
    socket.close();
  });

  test("transfers 16 MiB and one byte in both directions and its close code", async () => {
    const socket = socketTo("/");
    await once(socket, "open");
    const sent = Buffer.alloc(16 * 2 ** 20 + 1, 7);
    socket.send(sent);
    const [data] = (await once(socket, "message")) as [Buffer];
    expect(data.equals(sent)).toBe(true);
    socket.close(4001, "done");
    expect(await once(socket, "close")).toEqual([4001, Buffer.from("done")]);
  });

  test("may be idle beyond the request timeout", async () => {
    const socket = socketTo("/");
    await once(socket, "open");
    await new Promise((resolve) => setTimeout(resolve, 600));
    socket.send("still here");
    expect(String((await once(socket, "message"))[0])).toBe("still here");
    socket.close();
  });

  test("that the sandbox refuses gets its response, and the connection is closed", async () => {
    const plain = await cluster.serve((_, response) => response.writeHead(404).end("no page"), { ip: pod.ip });
    const socket = dial();
    const handshake = [
      "GET / HTTP/1.1",
      "Host: x",
      "X-Sandbox-ID: box",
      `X-Sandbox-Port: ${plain.port}`,
      "Connection: Upgrade",
      "Upgrade: other",
    ];
    socket.write(
      `${handshake.join("\r\n")}\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\nX-Sandbox-Token: spoofed\r\n\r\n`,
    );
    const text = await textOf(socket);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404"]);
  });

  test("gets an error response if it names no sandbox", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${router.address?.port}/`, {
      headers: toSandbox("no-such", 80).headers,
    });
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toContain("404");
  });

  test("gets a close frame when the router stops, between two frames", async () => {
    const leaving = await cluster.router({ shutdownMs: 5000 });
    const socket = new WebSocket(`ws://127.0.0.1:${leaving.address?.port}/`, toSandbox("box", pod.port));
    await once(socket, "open");
    socket.send("x".repeat(100_000));
    await once(socket, "message");
    const closed = once(socket, "close");
    await leaving[Symbol.asyncDispose]();
    expect(await closed).toEqual([1001, Buffer.from("going away")]);
  });

  test("counts towards the caller's limit", async () => {
    const strict = await cluster.router({ limits: { connectionsPerCaller: 1 } });
    const open = () => new WebSocket(`ws://127.0.0.1:${strict.address?.port}/`, toSandbox("box", pod.port));
    const first = open();
    await once(first, "open");
    const [refused] = (await once(open(), "error")) as [Error];
    expect(refused.message).toContain("429");
    first.close();
    await once(first, "close");
    const attempt = (): Promise<string> => {
      const next = open();
      return new Promise((resolve) => {
        next.on("error", () => resolve("refused"));
        next.on("open", () => {
          next.close();
          resolve("open");
        });
      });
    };
    await expect.poll(attempt).toBe("open");
  });
});

describe("a tunnel", () => {
  let echo: ReturnType<typeof createServer>;
  let port: number;

  beforeAll(async () => {
    // Responds only after the other side has stopped sending, which needs half-closed connections.
    echo = createServer({ allowHalfOpen: true }, (socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("end", () => socket.end(`got ${Buffer.concat(chunks).toString()}`));
      socket.on("error", () => undefined);
    });
    echo.listen({ host: pod.ip, port: 0 });
    await once(echo, "listening");
    port = (echo.address() as AddressInfo).port;
  });
  afterAll(() => echo.close());

  test.for([
    ["by host name", () => `CONNECT box.default.localhost:${port} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["by headers", () => `CONNECT ignored.example:${port} HTTP/1.1\r\nHost: x\r\nX-Sandbox-ID: box\r\n\r\n`],
  ] as const)("carries bytes both ways, %s", async ([, head]) => {
    const socket = dial();
    socket.end(`${head()}hello`);
    expect(await textOf(socket)).toBe("HTTP/1.1 200 Connection established\r\n\r\ngot hello");
  });

  test("stays open when both ends have stopped sending until a slow client has read everything", async () => {
    const heard = Promise.withResolvers<string>();
    const all = Buffer.alloc(32 * 2 ** 20, 1);
    const server = createServer({ allowHalfOpen: true }, (sandbox) => {
      const chunks: Buffer[] = [];
      sandbox.on("data", (chunk: Buffer) => chunks.push(chunk));
      sandbox.on("end", () => heard.resolve(Buffer.concat(chunks).toString()));
      sandbox.end(all);
    });
    server.listen({ host: pod.ip, port: 0 });
    await once(server, "listening");
    const at = (server.address() as AddressInfo).port;
    const socket = dial();
    socket.pause();
    socket.write(`CONNECT box.default.localhost:${at} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, "readable");
    socket.end("said meanwhile");
    // The sandbox's connection is closed completely before the client continues to read.
    expect(await heard.promise).toBe("said meanwhile");
    expect((await textOf(socket)).length).toBe(all.length + "HTTP/1.1 200 Connection established\r\n\r\n".length);
    server.close();
  });

  test("reaches only sandboxes", async () => {
    const statuses = await Promise.all(
      ["example.com:80", "127.0.0.1:22", "169.254.169.254:80", "box.default.localhost:0", "[::1]:80"].map(
        async (authority) => {
          const socket = dial();
          socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`);
          return (await textOf(socket)).slice(0, 12);
        },
      ),
    );
    expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 400"]));
  });

  test("can have a TCP listener of its own", async () => {
    await using listener = await router.listenTcp({ namespace: "default", name: "box", port }, { port: 0 });
    const socket = connect(listener.address.port, listener.address.host);
    socket.end("hello");
    expect(await textOf(socket)).toBe("got hello");
  });
});

test("a request without progress times out", async () => {
  const silent = await cluster.serve(() => undefined, { ip: pod.ip });
  const { status, text } = await ask(router, "/", toSandbox("box", silent.port));
  expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([504, "Timeout"]);
});

test("a stream with progress never times out", async () => {
  const ticking = await cluster.serve(
    (_, response) => {
      let left = 8;
      const timer = setInterval(
        () => ((left -= 1) > 0 ? response.write("tick ") : (clearInterval(timer) ?? response.end("end"))),
        100,
      );
    },
    { ip: pod.ip },
  );
  expect((await ask(router, "/", toSandbox("box", ticking.port))).text).toBe(`${"tick ".repeat(7)}end`);
});

test("100 Continue is sent only when the sandbox is ready for the body", async () => {
  const taker = await cluster.serve((asked, response) => void asked.resume().on("end", () => response.end("thanks")), {
    ip: pod.ip,
  });
  const { host, port } = router.address ?? {};
  const expects = (name: string) =>
    request({
      host,
      port,
      method: "POST",
      headers: { ...toSandbox(name, taker.port).headers, expect: "100-continue", "content-length": "4" },
    });
  const welcome = expects("box");
  welcome.flushHeaders();
  await once(welcome, "continue");
  welcome.end("body");
  const [taken] = (await once(welcome, "response")) as [{ statusCode: number }];
  const unwelcome = expects("no-such");
  unwelcome.flushHeaders();
  let wasAsked = false;
  unwelcome.on("continue", () => {
    wasAsked = true;
  });
  const [refused] = (await once(unwelcome, "response")) as [{ statusCode: number }];
  unwelcome.destroy();
  expect([taken.statusCode, refused.statusCode, wasAsked]).toEqual([200, 404, false]);
});

describe("clients that disconnect", () => {
  test("during a download do not affect others, in HTTP/1.1 and HTTP/2", async () => {
    const closed: Promise<unknown>[] = [];
    const source = await cluster.serve(
      (_, response) => {
        closed.push(once(response, "close"));
        endless(response);
      },
      { ip: pod.ip },
    );
    const { host, port } = router.address ?? {};
    for (let turn = 0; turn < 5; turn += 1) {
      const asked = request({ host, port, agent: false, ...toSandbox("box", source.port) }).end();
      asked.on("error", () => undefined);
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      await once(answer, "data");
      asked.destroy();
      const session = connectHttp2(router.url);
      session.on("error", () => undefined);
      const stream = session.request({ ":path": "/", ...toSandbox("box", source.port).headers });
      stream.on("error", () => undefined);
      await once(stream, "data");
      if (turn % 2 === 0) stream.close(constants.NGHTTP2_CANCEL);
      else session.destroy();
      await once(stream, "close");
      session.destroy();
    }
    await Promise.all(closed);
    expect([closed.length, (await ask(router, "/healthz")).status]).toEqual([10, 200]);
  });

  test("during an upload end the request in the sandbox", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const sink = await cluster.serve(
      (asked) => {
        asked.on("error", () => resolve("cut off"));
        asked.on("end", () => resolve("whole"));
        asked.resume();
      },
      { ip: pod.ip },
    );
    const { host, port } = router.address ?? {};
    const headers = { ...toSandbox("box", sink.port).headers, "content-length": "1000000" };
    const asked = request({ host, port, method: "POST", agent: false, headers });
    asked.on("error", () => undefined);
    asked.write(Buffer.alloc(500_000), () => asked.destroy());
    expect(await promise).toBe("cut off");
  });
});

test("a connection without a request ends when either side closes it", async () => {
  const patient = await cluster.router({ headMs: 600_000, shutdownMs: 600_000 });
  const silent = async (): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port: patient.address?.port ?? 0, allowHalfOpen: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket.resume();
  };
  const [hangsUp, stays] = [await silent(), await silent()];
  hangsUp.end();
  await once(hangsUp, "close");
  expect([hangsUp.destroyed, stays.destroyed]).toEqual([true, false]);
  await patient[Symbol.asyncDispose]();
  stays.end();
  await once(stays, "close");
  expect(stays.destroyed).toBe(true);
});

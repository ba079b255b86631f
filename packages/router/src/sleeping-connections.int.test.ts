import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { RouterOptions } from "./router-options.ts";
import { SavedSandbox } from "./saved-sandbox.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let web: Served;
let sockets: WebSocketServer;
let counter: Server;
let port = 0;
/** The sockets that the server "in" the pods has accepted, and how each ended. */
const accepted: { readonly socket: Socket; end: string }[] = [];

beforeAll(async () => {
  web = await cluster.serve((request, response) => void response.end(request.url));
  sockets = new WebSocketServer({ server: web.server });
  sockets.on("connection", (socket) => {
    let count = 0;
    socket.on("message", (data: Buffer) => socket.send(`${(count += 1)} ${data.toString("utf8")}`));
  });
  counter = createServer({ allowHalfOpen: true }, (socket) => {
    const record = { socket, end: "" };
    accepted.push(record);
    socket.on("data", (chunk: Buffer) => socket.write(chunk));
    socket.on("end", () => (record.end ||= "end"));
    socket.on("error", () => (record.end = "reset"));
  });
  counter.listen({ host: web.ip, port: 0 });
  await once(counter, "listening");
  port = (counter.address() as AddressInfo).port;
  router = await cluster.router({ holdMs: 10_000 });
});
afterAll(async () => {
  counter.close();
  await cluster[Symbol.asyncDispose]();
});

const create = (name: string, spec = {}): Promise<SavedSandbox> =>
  SavedSandbox.create({ cluster, name, ip: web.ip, spec });

async function webSocket(name: string, over: Router = router): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${over.address?.port}/`, toSandbox(name, web.port));
  await once(socket, "open");
  return socket;
}

async function tunnel(name: string, over: Router = router): Promise<Socket> {
  const socket = connect({ port: over.address?.port ?? 0, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.write(`CONNECT ${name}.default.localhost:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

async function http2Tunnel(name: string): Promise<Duplex> {
  const session = connectHttp2(router.url);
  const stream = session.request({ ":method": "CONNECT", ":authority": `${name}.default.localhost:${port}` });
  stream.on("close", () => session.close());
  await once(stream, "response");
  return stream;
}

async function listener(name: string): Promise<Socket> {
  const target = await router.listenTcp({ namespace: "default", name, port }, { port: 0 });
  cluster.use(target);
  const socket = connect(target.address.port, target.address.host);
  await once(socket, "connect");
  return socket;
}

async function echoOf(stream: Duplex, text: string): Promise<string> {
  stream.write(text);
  let received = "";
  while (received.length < text.length) received += String((await once(stream, "data"))[0]);
  return received;
}

const reply = async (socket: WebSocket, text: string): Promise<string> => {
  socket.send(text);
  return String((await once(socket, "message"))[0]);
};

const sleeping = async (over: Router = router): Promise<number> =>
  Number(/^sandbox_router_sleeping_connections (\d+)$/m.exec(await over.metrics())?.[1]);

describe("a connection to a sandbox that falls asleep with its memory", () => {
  test("continues where it was, as a WebSocket, over several sleeps", async () => {
    const sandbox = await create("ws");
    const socket = await webSocket("ws");
    expect(await reply(socket, "a")).toBe("1 a");
    for (let cycle = 2; cycle <= 5; cycle += 1) {
      await sandbox.fallAsleep();
      const woken = sandbox.resumeWhenWoken();
      expect(await reply(socket, "b")).toBe(`${cycle} b`);
      await woken;
    }
    socket.close();
  });

  test.for<[string, (name: string) => Promise<Duplex>]>([
    ["tunnel", tunnel],
    ["http2-tunnel", http2Tunnel],
    ["listener", listener],
  ])("continues where it was, as a %s", async ([name, open]) => {
    const sandbox = await create(name);
    const stream = await open(name);
    expect(await echoOf(stream, "before")).toBe("before");
    await sandbox.fallAsleep();
    const woken = sandbox.resumeWhenWoken();
    expect(await echoOf(stream, "after")).toBe("after");
    await woken;
    stream.destroy();
  });

  test("loses and repeats nothing that many clients send while it sleeps, and is woken by one write", async () => {
    const sandbox = await create("many");
    const streams = await Promise.all(Array.from({ length: 20 }, () => tunnel("many")));
    await sandbox.fallAsleep();
    await expect.poll(() => sleeping()).toBe(20);
    let writes = 0;
    cluster.api.onChange(({ object }) => {
      if (object.kind === "Sandbox" && object.metadata?.name === "many") writes += 1;
    });
    const sent = streams.map((_, index) => Buffer.alloc(300_000, `${index} `).toString());
    const received = streams.map((stream, index) => echoOf(stream, sent[index] ?? ""));
    await sandbox.resumeWhenWoken();
    expect(await Promise.all(received)).toEqual(sent);
    expect([writes, await sleeping()]).toEqual([1, 0]);
    for (const stream of streams) stream.destroy();
  });

  test("is sent nothing before it is ready", async () => {
    const sandbox = await create("unready");
    const stream = await tunnel("unready");
    const { socket } = accepted.at(-1) ?? {};
    await sandbox.fallAsleep();
    const echo = echoOf(stream, "early");
    await sandbox.resumeWhenWoken({ ready: false });
    await sleep(50);
    expect(socket?.bytesRead).toBe(0);
    await cluster.podStatus(sandbox.object, { ip: web.ip });
    expect(await echo).toBe("early");
    stream.destroy();
  });

  test("continues if the sandbox could not be saved", async () => {
    const sandbox = await create("refused");
    const stream = await tunnel("refused");
    await sandbox.askToSave();
    await expect.poll(() => sleeping()).toBe(1);
    const echo = echoOf(stream, "held");
    await sandbox.reportSaved("False");
    expect(await echo).toBe("held");
    stream.destroy();
  });

  test("wakes nothing that only its author may wake, and continues when that happens", async () => {
    const sandbox = await create("manual", { resumePolicy: "Manual" });
    const stream = await tunnel("manual");
    await sandbox.fallAsleep();
    await expect.poll(() => sleeping()).toBe(1);
    const before = sandbox.activity;
    const echo = echoOf(stream, "patient");
    await sleep(50);
    expect(sandbox.activity).toBe(before);
    const at = "2026-02-02T00:00:00Z";
    const body = { metadata: { annotations: { "agents.x-k8s.io/last-activity": at } } };
    await cluster.client.patch(sandboxes, { namespace: "default", name: "manual" }, { type: "merge", body });
    await sandbox.resume();
    expect(await echo).toBe("patient");
    stream.destroy();
  });
});

describe("a client that leaves while the sandbox sleeps", () => {
  test.for<[string, (socket: Socket) => unknown, string]>([
    ["stops sending", (socket) => socket.end(), "end"],
    ["resets the connection", (socket) => socket.resetAndDestroy(), "reset"],
  ])("and %s does not wake it, and it learns of it when it is awake", async ([name, leave, expected]) => {
    const id = name.replaceAll(" ", "-");
    const sandbox = await create(id);
    const socket = await tunnel(id);
    const end = accepted.at(-1);
    await sandbox.fallAsleep();
    await expect.poll(() => sleeping()).toBe(1);
    const before = sandbox.activity;
    leave(socket);
    await sleep(50);
    expect([end?.end, sandbox.activity, await sleeping()]).toEqual(["", before, 1]);
    const answer = ask(router, "/", toSandbox(id, web.port));
    await sandbox.resumeWhenWoken();
    await answer;
    await expect.poll(() => end?.end).toBe(expected);
    expect(await sleeping()).toBe(0);
    end?.socket.destroy();
    socket.destroy();
  });
});

test("closing a WebSocket does not wake a sandbox, which learns of it when it is awake", async () => {
  const sandbox = await create("polite");
  const seen = once(sockets, "connection");
  const socket = await webSocket("polite");
  const [inside] = (await seen) as [WebSocket];
  const heard = once(inside, "close");
  await sandbox.fallAsleep();
  await expect.poll(() => sleeping()).toBe(1);
  const before = sandbox.activity;
  socket.close(4001, "done");
  expect((await once(socket, "close"))[0]).toBe(4001);
  expect([sandbox.activity, await sleeping()]).toEqual([before, 1]);
  const answer = ask(router, "/", toSandbox("polite", web.port));
  await sandbox.resumeWhenWoken();
  await answer;
  expect(await heard).toEqual([4001, Buffer.from("done")]);
  expect(await sleeping()).toBe(0);
});

test("a connection is closed soon after its credential becomes invalid, and does not wake the sandbox", async () => {
  const strict = await cluster.router({ auth: { tokenReview: { ttlMs: 1 } }, recheckMs: 50 });
  cluster.users.set("t", { username: "u", mayConnect: ["default/revoked"] });
  const sandbox = await create("revoked");
  const socket = connect({ port: strict.address?.port ?? 0, host: "127.0.0.1" });
  socket.on("error", () => undefined);
  const credential = "Proxy-Authorization: Bearer t";
  socket.write(`CONNECT revoked.default.localhost:${port} HTTP/1.1\r\nHost: x\r\n${credential}\r\n\r\n`);
  expect(String((await once(socket, "data"))[0])).toContain("200");
  await sandbox.fallAsleep();
  await expect.poll(() => sleeping(strict)).toBe(1);
  const before = sandbox.activity;
  cluster.users.delete("t");
  await new Promise((resolve) => socket.once("close", resolve));
  expect([sandbox.activity, await sleeping(strict)]).toEqual([before, 1]);
});

describe("a connection to a sandbox whose memory is not restored", () => {
  test.for([
    ["it starts from its files", { from: "" }],
    ["the image cannot be restored", { status: "False" }],
    ["it returns to an earlier epoch", { from: "suspension/7" }],
    ["it returns to a snapshot", { from: "snapshot/0" }],
  ] as const)("is closed with a reason when %s", async ([name, restored]) => {
    const id = name.replaceAll(" ", "-");
    const sandbox = await create(id);
    const [socket, stream] = [await webSocket(id), await tunnel(id)];
    await sandbox.fallAsleep();
    const closed = once(socket, "close");
    const cut = new Promise((resolve) => stream.once("close", resolve));
    await sandbox.resume(restored);
    expect(await closed).toEqual([1012, Buffer.from("the sandbox was stopped or restarted")]);
    await cut;
    expect(await sleeping()).toBe(0);
  });

  test("is closed when the Sandbox is deleted", async () => {
    const sandbox = await create("deleted");
    const socket = await webSocket("deleted");
    await sandbox.fallAsleep();
    const closed = once(socket, "close");
    await cluster.client.delete(sandboxes, { namespace: "default", name: "deleted" });
    expect((await closed)[0]).toBe(1012);
  });

  test("is closed when its pod ends without having been saved", async () => {
    const sandbox = await create("unsaved");
    const socket = await webSocket("unsaved");
    await sandbox.markIdle();
    const closed = once(socket, "close");
    await sandbox.removePod();
    expect((await closed)[0]).toBe(1012);
  });
});

describe("limits", () => {
  const strict = (options: Partial<RouterOptions>): Promise<Router> => cluster.router(options);

  test("close the connections above the number that may be kept for one sandbox", async () => {
    const own = await strict({ sleeping: { perSandbox: 2 } });
    const sandbox = await create("few");
    const sockets = await Promise.all(Array.from({ length: 3 }, () => webSocket("few", own)));
    const closed = sockets.map((socket) => once(socket, "close"));
    await sandbox.markIdle();
    expect(await Promise.race(closed)).toEqual([
      1012,
      Buffer.from("too many connections to sandboxes that are asleep"),
    ]);
    expect(await sleeping(own)).toBe(2);
  });

  test("leave room for other namespaces", async () => {
    const own = await strict({ sleeping: { total: 4 } });
    const sandbox = await create("shared");
    await Promise.all(Array.from({ length: 4 }, () => webSocket("shared", own)));
    await sandbox.markIdle();
    await expect.poll(() => sleeping(own)).toBe(2);
  });

  test("close a connection whose bytes cannot be held", async () => {
    const own = await strict({ waiting: { totalBytes: 150_000 } });
    const sandbox = await create("full");
    const [first, second] = [await webSocket("full", own), await webSocket("full", own)];
    await sandbox.markIdle();
    await expect.poll(() => sleeping(own)).toBe(2);
    first.send("held");
    await expect.poll(() => sandbox.activity).toBeDefined();
    const closed = once(second, "close");
    second.send("too much");
    expect(await closed).toEqual([1012, Buffer.from("the sandbox cannot be woken")]);
  });
});

describe("a request to a sandbox that is saved meanwhile", () => {
  test("is answered after the resume, over the same connection", async () => {
    const got: string[] = [];
    const arrived = Promise.withResolvers<() => void>();
    const slow = await cluster.serve(
      (request, response) => {
        got.push(request.url ?? "");
        arrived.resolve(() => response.end("kept"));
      },
      { ip: web.ip },
    );
    const sandbox = await create("in-flight");
    const answer = ask(router, "/slow", toSandbox("in-flight", slow.port));
    const finish = await arrived.promise;
    // The save began before the controller saw the activity that the request caused.
    await sandbox.askToSave();
    await sandbox.reportSaved("True");
    await sandbox.removePod();
    await sandbox.resume();
    finish();
    expect([(await answer).text, got]).toEqual(["kept", ["/slow"]]);
  });

  test("gets a new connection, whatever the pool has", async () => {
    const sandbox = await create("pooled");
    let connections = 0;
    web.server.on("connection", () => (connections += 1));
    await ask(router, "/1", toSandbox("pooled", web.port));
    await ask(router, "/2", toSandbox("pooled", web.port));
    const before = connections;
    await sandbox.fallAsleep();
    const answer = ask(router, "/3", toSandbox("pooled", web.port));
    await sandbox.resumeWhenWoken({ from: "" });
    expect([(await answer).text, before, connections]).toEqual(["/3", 1, 2]);
  });
});

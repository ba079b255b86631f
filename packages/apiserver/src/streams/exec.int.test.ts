import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";
import { FakePodStreams, type FakeSession } from "./fake-pod-streams.test.support.ts";

let server: ApiServer;
let listening: Listening;
const podStreams = new FakePodStreams();

const pods = "/api/v1/namespaces/default/pods";

async function createPod(name: string, containers: string[], status: object): Promise<void> {
  const spec = { containers: containers.map((each) => ({ name: each, image: "busybox" })) };
  await server.transport.send({ method: "POST", path: pods, body: { metadata: { name }, spec } });
  const headers = { "content-type": "application/merge-patch+json" };
  await server.transport.send({ method: "PATCH", path: `${pods}/${name}/status`, headers, body: { status } });
}

const running = (...names: string[]): object => ({
  phase: "Running",
  containerStatuses: names.map((name) => ({
    name,
    ready: true,
    restartCount: 0,
    image: "",
    imageID: "",
    state: { running: {} },
  })),
});

beforeAll(async () => {
  server = await createApiServer({ podStreams, nodeName: "box" });
  listening = await server.listen();
  await createPod("p", ["main"], running("main"));
  await createPod("two", ["a", "b"], running("a", "b"));
  await createPod("waiting", ["main"], { phase: "Pending" });
  await createPod("done", ["main"], { phase: "Succeeded" });
});
afterAll(() => server.close());

/** A client of an exec session, with the received data by channel. */
class Client {
  readonly socket: WebSocket;
  readonly received = new Map<number, Buffer[]>();

  constructor(
    query: string,
    {
      pod = "p",
      protocols = ["v5.channel.k8s.io"],
      headers = {},
    }: { pod?: string; protocols?: string[]; headers?: object } = {},
  ) {
    this.socket = new WebSocket(`wss://127.0.0.1:${listening.port}${pods}/${pod}/exec?${query}`, protocols, {
      ca: listening.authority,
      headers: { authorization: `Bearer ${listening.token}`, ...headers },
    });
    this.socket.on("message", (data: Buffer) => {
      const channel = data[0] as number;
      this.received.set(channel, [...(this.received.get(channel) ?? []), data.subarray(1)]);
    });
  }

  text(channel: number): string {
    return Buffer.concat(this.received.get(channel) ?? []).toString();
  }

  send(channel: number, content: string | Buffer): void {
    this.socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(content)]));
  }

  async closed(): Promise<number> {
    const [code] = (await once(this.socket, "close")) as [number];
    return code;
  }

  /** The `Status` with which the upgrade was refused. */
  async refusal(): Promise<{ code: number; message: string; reason: string }> {
    const [, response] = (await once(this.socket, "unexpected-response")) as [unknown, AsyncIterable<Buffer>];
    let text = "";
    for await (const chunk of response) text += chunk.toString();
    return JSON.parse(text) as { code: number; message: string; reason: string };
  }
}

const session = (): FakeSession => podStreams.sessions.at(-1) as FakeSession;

describe("exec over WebSocket", () => {
  test("carries input, output and the end of input", async () => {
    const client = new Client("command=cat&stdin=true&stdout=true&stderr=true");
    await once(client.socket, "open");
    expect(client.socket.protocol).toBe("v5.channel.k8s.io");
    client.send(0, "hello ");
    client.send(0, "world");
    client.socket.send(Buffer.from([255, 0]));
    expect(await client.closed()).toBe(1000);
    expect(client.text(1)).toBe("hello world");
    expect(JSON.parse(client.text(3))).toEqual({ metadata: {}, status: "Success" });
    expect(session().request).toEqual({
      namespace: "default",
      pod: "p",
      container: "main",
      command: ["cat"],
      tty: false,
      stdin: true,
    });
  });

  test("separates stdout and stderr, and leaves out streams that were not requested", async () => {
    const both = new Client("command=both&stdout=true&stderr=true");
    await both.closed();
    expect([both.text(1), both.text(2)]).toEqual(["to stdout\n", "to stderr\n"]);
    const one = new Client("command=both&stderr=true");
    await one.closed();
    expect([one.text(1), one.text(2)]).toEqual(["", "to stderr\n"]);
  });

  test("reports the exit code", async () => {
    const client = new Client("command=fail&command=42&stdout=true", { protocols: ["v4.channel.k8s.io"] });
    await client.closed();
    expect(JSON.parse(client.text(3))).toMatchObject({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "42" }] },
    });
  });

  test("forwards valid terminal sizes and ignores invalid ones", async () => {
    const client = new Client("command=wait&stdin=true&stdout=true&tty=true");
    await once(client.socket, "open");
    for (const size of [
      '{"Width":80,"Height":24}',
      '{"Width":0,"Height":1}',
      '{"Width":"a"}',
      "not json",
      '{"Width":132,"Height":50}',
    ])
      client.send(4, size);
    client.socket.send(Buffer.alloc(0));
    client.socket.send("text");
    client.socket.ping();
    await once(client.socket, "pong");
    expect(session().sizes).toEqual(["80x24", "132x50"]);
    session().finish(0);
    await client.closed();
  });

  test("ends the command when the client disconnects", async () => {
    const client = new Client("command=wait&stdout=true");
    await once(client.socket, "open");
    client.socket.terminate();
    await session().killed;
    expect(await session().exit).toEqual({ code: 137, signal: "SIGKILL" });
  });

  test("does not buffer output for a client that does not read", async () => {
    const total = 64 * 1024 * 1024;
    const client = new Client(`command=flood&command=${total}&stdout=true`);
    await once(client.socket, "open");
    client.socket.pause();
    const flooding = session();
    const before = process.memoryUsage().arrayBuffers;
    // The command blocks once all buffers are full.
    let written = -1;
    while (written !== flooding.stdout.readableLength || flooding.stdout.readableLength === 0) {
      written = flooding.stdout.readableLength;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(total / 2);
    client.socket.resume();
    await client.closed();
    expect(client.text(1).length).toBe(total);
  });

  test("carries large input to a slow reader without loss", async () => {
    const client = new Client("command=wait&stdin=true&stdout=true");
    await once(client.socket, "open");
    const chunk = Buffer.alloc(100_000, "y");
    for (let at = 0; at < 100; at += 1) client.send(0, chunk);
    client.socket.send(Buffer.from([255, 0]));
    let received = 0;
    for await (const part of session().stdin as AsyncIterable<Buffer>) received += part.length;
    expect(received).toBe(100 * chunk.length);
    session().finish(0);
    await client.closed();
  });
});

test("closing the server ends sessions, whether or not their clients close the connection", async () => {
  const streams = new FakePodStreams();
  const own = await createApiServer({ podStreams: streams });
  const { port, authority, token } = await own.listen();
  const body = { metadata: { name: "p" }, spec: { containers: [{ name: "main", image: "busybox" }] } };
  await own.transport.send({ method: "POST", path: pods, body });
  const headers = { "content-type": "application/merge-patch+json" };
  await own.transport.send({ method: "PATCH", path: `${pods}/p/status`, headers, body: { status: running("main") } });
  const socket = new WebSocket(
    `wss://127.0.0.1:${port}${pods}/p/exec?command=wait&stdout=true`,
    ["v5.channel.k8s.io"],
    {
      ca: authority,
      headers: { authorization: `Bearer ${token}` },
    },
  );
  await once(socket, "open");
  socket.pause();
  socket.on("error", () => undefined);
  await own.close();
  await streams.sessions[0]?.killed;
  expect(await streams.sessions[0]?.exit).toMatchObject({ signal: "SIGKILL" });
  socket.terminate();
});

describe("exec is refused", () => {
  test.for([
    ["without a command", "stdout=true", {}, 400, "at least one command"],
    ["without any stream", "command=ls", {}, 400, "at least one of stdin, stdout, stderr"],
    [
      "in a container that is not there",
      "command=ls&stdout=true&container=x",
      {},
      400,
      "container x is not valid for pod p",
    ],
    [
      "without a container name in a Pod with several",
      "command=ls&stdout=true",
      { pod: "two" },
      400,
      "choose one of: [a b]",
    ],
    ["in a missing Pod", "command=ls&stdout=true", { pod: "none" }, 404, 'pods "none" not found'],
    [
      "in a Pod that has ended",
      "command=ls&stdout=true",
      { pod: "done" },
      400,
      "completed pod; current phase is Succeeded",
    ],
    [
      "in a Pod that does not run yet",
      "command=ls&stdout=true",
      { pod: "waiting" },
      500,
      'container not running ("main")',
    ],
    [
      "in an unknown protocol",
      "command=ls&stdout=true",
      { protocols: ["base64.channel.k8s.io"] },
      400,
      "v5.channel.k8s.io",
    ],
    [
      "without valid credentials",
      "command=ls&stdout=true",
      { headers: { authorization: "Bearer x" } },
      401,
      "Unauthorized",
    ],
  ] as const)("%s", async ([, query, options, code, message]) => {
    const refusal = await new Client(query, options as never).refusal();
    expect(refusal.code).toBe(code);
    expect(refusal.message).toContain(message);
  });

  test.for([
    ["SPDY/3.1", 403, "client supports [v9.channel.k8s.io], server accepts [v4.channel.k8s.io]"],
    ["h2c", 400, 'supports WebSocket and SPDY/3.1 here, not "h2c"'],
  ] as const)("in an unsupported protocol: %s", async ([upgrade, code, message]) => {
    const headers = { connection: "Upgrade", upgrade, "x-stream-protocol-version": "v9.channel.k8s.io" };
    const sent = request({
      host: "127.0.0.1",
      port: listening.port,
      ca: listening.authority,
      method: "POST",
      path: `${pods}/p/exec?command=ls&stdout=true`,
      headers: { authorization: `Bearer ${listening.token}`, ...headers },
    }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response) text += String(chunk);
    expect(JSON.parse(text)).toMatchObject({ kind: "Status", code, message: expect.stringContaining(message) });
  });

  test("with the node's error when the node refuses", async () => {
    podStreams.refuse = Object.assign(new Error("the sandbox is frozen"), { reason: "Conflict" });
    const refusal = await new Client("command=ls&stdout=true").refusal();
    podStreams.refuse = undefined;
    expect(refusal).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: "the sandbox is frozen",
    });
  });

  test("without an upgrade", async () => {
    await using own = await createApiServer();
    const spec = { containers: [{ name: "main", image: "busybox:1" }] };
    await own.transport.send({ method: "POST", path: pods, body: { metadata: { name: "p" }, spec } });
    expect((await own.transport.send({ method: "GET", path: `${pods}/p/exec` })).status).toBe(400);
    expect((await own.transport.send({ method: "GET", path: `${pods}/none/exec` })).status).toBe(404);
  });
});

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket as TcpSocket } from "node:net";
import { silentLogger } from "@agent-sandbox/kube";
import { decode, encode, type Packet } from "dns-packet";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { NameServer } from "./name-server.ts";

const server = "127.0.0.5";
/** Pods by address: two in one namespace and one in another. */
const namespaces = new Map([
  ["127.0.1.1", "a"],
  ["127.0.1.2", "a"],
  ["127.0.2.1", "b"],
]);
const stack = new AsyncDisposableStack();
const upstreamGot: Packet[] = [];
/** The responses of the upstream server. Without it, the server does not respond. */
let respond: ((query: Packet) => Buffer[]) | undefined;
let port: number;

const answering = (query: Packet, given: object = {}): Buffer =>
  encode({ type: "response", id: query.id ?? 0, questions: query.questions ?? [], ...given });
const address = (data: string): object => ({ answers: [{ type: "A", name: "example.com", data }] });

beforeAll(async () => {
  const upstream = createSocket("udp4").bind(0, "127.0.0.1");
  await once(upstream, "listening");
  upstream.on("message", (message, { port: back, address: to }) => {
    const query = decode(message);
    upstreamGot.push(query);
    for (const each of respond?.(query) ?? []) upstream.send(each, back, to);
  });
  stack.defer(() => void upstream.close());
  const names = await NameServer.start({
    address: server,
    port: 0,
    names: {
      namespaceOf: (from) => namespaces.get(from),
      lookUp: (_from, name) => {
        if (name === "denied.example.com") return "refused";
        if (!name.endsWith("cluster.local")) return "ask-others";
        return { addresses: name.startsWith("web.") ? ["10.200.0.4"] : [] };
      },
    },
    upstreams: [`127.0.0.1:${upstream.address().port}`],
    log: silentLogger,
  });
  stack.use(names);
  ({ port } = names);
});
afterAll(() => stack.disposeAsync());
beforeEach(() => {
  upstreamGot.length = 0;
  respond = undefined;
});

async function open(from: string): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, from);
  await once(socket, "listening");
  return socket;
}

const code = (packet: Packet): number => (packet.flags ?? 0) & 15;

async function ask(from: string, name: string, given: object = {}): Promise<Packet> {
  const socket = await open(from);
  const query = { type: "query", id: 7, flags: 0x0100, questions: [{ type: "A", name }], ...given } as Packet;
  const answered = once(socket, "message", { signal: AbortSignal.timeout(5000) });
  socket.send(encode(query), port, server);
  try {
    return decode((await answered)[0] as Buffer);
  } finally {
    socket.close();
  }
}

describe("the name server", () => {
  test("answers names of the cluster, and NXDOMAIN for those that do not exist", async () => {
    const found = await ask("127.0.1.1", "web.a.svc.cluster.local");
    expect([code(found), found.answers?.map((each) => "data" in each && each.data)]).toEqual([0, ["10.200.0.4"]]);
    expect(code(await ask("127.0.1.1", "none.a.svc.cluster.local"))).toBe(3);
    const any = await ask("127.0.1.1", "web.a.svc.cluster.local", {
      questions: [{ type: "ANY", name: "web.a.svc.cluster.local" }],
    });
    expect([code(any), any.answers]).toEqual([0, []]);
  });

  test("refuses clients that are not Pods and names that the Pod may not resolve, and forwards nothing", async () => {
    expect(code(await ask("127.0.3.3", "web.a.svc.cluster.local"))).toBe(5);
    expect(code(await ask("127.0.3.3", "example.com"))).toBe(5);
    expect(code(await ask("127.0.1.1", "denied.example.com"))).toBe(5);
    expect(upstreamGot).toEqual([]);
  });

  test("forwards the question and nothing else of the message", async () => {
    respond = (query) => [answering(query, address("192.0.2.1"))];
    const answer = await ask("127.0.1.1", "example.com", {
      additionals: [{ type: "TXT", name: "secret.example.com", data: "smuggled" }],
    });
    expect(answer.id).toBe(7);
    expect(answer.answers?.map((each) => "data" in each && each.data)).toEqual(["192.0.2.1"]);
    expect(upstreamGot).toHaveLength(1);
    expect(upstreamGot[0]?.additionals).toEqual([]);
  });

  test.for([
    ["a zone update", { flags: 5 << 11 }, 4],
    ["a zone change notification", { flags: 4 << 11 }, 4],
    ["a zone transfer", { questions: [{ type: "AXFR", name: "example.com" }] }, 5],
    ["another class", { questions: [{ type: "TXT", name: "version.bind", class: "CH" }] }, 5],
    [
      "two questions at once",
      {
        questions: [
          { type: "A", name: "a.com" },
          { type: "A", name: "b.com" },
        ],
      },
      1,
    ],
  ] as const)("does not forward %s", async ([, given, expected]) => {
    expect(code(await ask("127.0.1.1", "example.com", given))).toBe(expected);
    expect(upstreamGot).toEqual([]);
  });

  test("ignores a response with another ID or another name", async () => {
    respond = (query) => [
      encode({
        type: "response",
        id: ((query.id ?? 0) + 1) & 0xffff,
        questions: query.questions ?? [],
        ...address("6.6.6.6"),
      }),
      answering({ ...query, questions: [{ type: "A", name: "other.com" }] }, address("6.6.6.6")),
      Buffer.alloc(40, 0xff),
      answering(query, address("192.0.2.1")),
    ];
    const answer = await ask("127.0.1.1", "example.com");
    expect(answer.answers?.map((each) => "data" in each && each.data)).toEqual(["192.0.2.1"]);
  });

  test("limits the pending queries of a Pod, and forwards those of other namespaces", async () => {
    // The upstream server does not respond, so queries wait until they time out. Queries above the limit fail at once.
    const socket = await open("127.0.1.1");
    let failed = 0;
    socket.on("message", () => (failed += 1));
    for (let at = 0; at < 40; at += 1) {
      socket.send(encode({ type: "query", id: at, questions: [{ type: "A", name: `n${at}.com` }] }), port, server);
    }
    await expect.poll(() => failed).toBe(24);
    expect(upstreamGot).toHaveLength(16);
    respond = (query) => [answering(query, address("192.0.2.1"))];
    expect(code(await ask("127.0.2.1", "example.com"))).toBe(0);
    socket.close();
  });
});

describe("the name server over TCP", () => {
  async function connected(from: string): Promise<TcpSocket | undefined> {
    const socket = connect({ host: server, port, localAddress: from });
    socket.on("error", () => undefined);
    const message = encode({ type: "query", id: 1, questions: [{ type: "A", name: "web.a.svc.cluster.local" }] });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    return new Promise((resolve) => {
      socket.once("data", () => resolve(socket));
      socket.once("close", () => resolve(undefined));
    });
  }

  test("has connections left for other namespaces when one opens as many as it can", async () => {
    const mine = await Promise.all(Array.from({ length: 40 }, () => connected("127.0.1.1")));
    expect(mine.filter((socket) => socket !== undefined)).toHaveLength(4);
    const other = await connected("127.0.2.1");
    expect(other).toBeDefined();
    const second = await connected("127.0.1.2");
    expect(second).toBeDefined();
    expect(await connected("127.0.3.3")).toBeUndefined();
    for (const socket of [...mine, other, second]) socket?.destroy();
  });

  test("closes a connection that announces a message above the size limit", async () => {
    const socket = connect({ host: server, port, localAddress: "127.0.2.1" });
    socket.write(Buffer.from([0xff, 0xff, 0]));
    await once(socket, "close");
    expect(socket.bytesRead).toBe(0);
  });
});

import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
/** Method, target and body of the requests that arrived. */
const arrived: string[] = [];

beforeAll(async () => {
  pod = await cluster.serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      arrived.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
      response.end("ok");
    });
  });
  pod.server.maxHeadersCount = 0;
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ headMs: 200, maxHeaderBytes: 16_384 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Sends bytes and reads until the router closes the connection or sends nothing more. */
async function raw(bytes: string | Buffer, { waitMs = 300 } = {}): Promise<string> {
  const socket = connect(router.address?.port ?? 0, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.write(bytes);
  await Promise.race([new Promise((resolve) => socket.on("close", resolve)), sleep(waitMs)]);
  socket.destroy();
  return Buffer.concat(chunks).toString("latin1");
}

const statuses = (text: string): string[] => text.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(9)) ?? [];
const lines = (...parts: string[]): string => `${parts.join("\r\n")}\r\n\r\n`;
const routed = (): string[] => ["Host: x", "X-Sandbox-ID: box", `X-Sandbox-Port: ${pod.port}`];

describe("request smuggling", () => {
  // Each tries to smuggle a second request behind the first.
  const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  test.for<[string, string[], string]>([
    ["a length and chunks", ["Content-Length: 6", "Transfer-Encoding: chunked"], `0\r\n\r\n${hidden}`],
    ["chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 4"], `0\r\n\r\n${hidden}`],
    ["two lengths", ["Content-Length: 0", `Content-Length: ${hidden.length}`], hidden],
    ["a list of lengths", [`Content-Length: 0, ${hidden.length}`], hidden],
    ["a length with a sign", [`Content-Length: +0`], hidden],
    ["a length in hexadecimal", ["Content-Length: 0x0"], hidden],
    ["a negative length", ["Content-Length: -1"], hidden],
    ["an unknown encoding", ["Transfer-Encoding: xchunked"], `0\r\n\r\n${hidden}`],
    ["chunks that are not last", ["Transfer-Encoding: chunked, identity"], `0\r\n\r\n${hidden}`],
    ["two encodings", ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], `0\r\n\r\n${hidden}`],
    ["a space before the colon", ["Transfer-Encoding : chunked"], `0\r\n\r\n${hidden}`],
    ["a tab in the value", ["Transfer-Encoding:\x0bchunked"], `0\r\n\r\n${hidden}`],
    ["a folded header", ["Transfer-Encoding:", " chunked"], `0\r\n\r\n${hidden}`],
    ["a NUL in a value", ["X-A: a\0b"], hidden],
    ["a bare CR in a value", ["X-A: a\rContent-Length: 5"], hidden],
    ["a header without a name", [": a"], hidden],
    ["a bad chunk size", ["Transfer-Encoding: chunked"], `zz\r\n\r\n${hidden}`],
    ["an endless chunk size", ["Transfer-Encoding: chunked"], `${"f".repeat(17)}\r\nx\r\n0\r\n\r\n${hidden}`],
    ["a chunk that is longer than it says", ["Transfer-Encoding: chunked"], `1\r\nxx\r\n0\r\n\r\n${hidden}`],
    ["a second Host", ["Host: y"], ""],
    ["a second sandbox", ["X-Sandbox-ID: other"], ""],
  ])("%s is refused, and the rest with it", async ([, headers, rest]) => {
    arrived.length = 0;
    const text = await raw(lines("POST /first HTTP/1.1", ...routed(), ...headers) + rest);
    expect(statuses(text)).toEqual(["400"]);
    expect(arrived.filter((line) => line.includes("hidden"))).toEqual([]);
  });

  test("chunk extensions and trailers are not forwarded", async () => {
    arrived.length = 0;
    const head = lines("POST /chunks HTTP/1.1", ...routed(), "Transfer-Encoding: chunked", "Connection: close");
    const text = await raw(`${head}3;a="b\r\nabc\r\n0\r\nX-Sandbox-Token: spoofed\r\n\r\n`);
    // Both are correct: to refuse it, or to forward the three bytes of data.
    expect([["400"], ["200"]]).toContainEqual(statuses(text));
    expect(arrived.every((line) => line === "POST /chunks abc")).toBe(true);
  });

  test("an upgrade request with a body is not upgraded", async () => {
    arrived.length = 0;
    const head = lines(
      "POST /up HTTP/1.1",
      ...routed(),
      "Connection: Upgrade, close",
      "Upgrade: websocket",
      "Content-Length: 3",
    );
    expect(statuses(await raw(`${head}abc`))).toEqual(["200"]);
    expect(arrived).toEqual(["POST /up abc"]);
  });

  test("an upgrade to h2c is not forwarded", async () => {
    const head = lines(
      "GET /h2c HTTP/1.1",
      ...routed(),
      "Connection: Upgrade, HTTP2-Settings, close",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
    );
    expect(statuses(await raw(head))).toEqual(["200"]);
  });
});

describe("invalid requests", () => {
  test.for<[string, string, string]>([
    ["garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "400"],
    ["no version", "GET /\r\n\r\n", "400"],
    ["a version that is not there", lines("GET / HTTP/7.3", "Host: x"), "400"],
    ["no Host", lines("GET / HTTP/1.1"), "400"],
    ["a target that is no path", lines("GET foo HTTP/1.1", "Host: x"), "400"],
    ["another scheme", lines("GET ftp://x/ HTTP/1.1", "Host: x"), "400"],
    ["a target with credentials", lines("GET http://a@b/ HTTP/1.1", "Host: x"), "400"],
    ["an asterisk", lines("OPTIONS * HTTP/1.1", "Host: x"), "400"],
  ])("%s is refused", async ([, bytes, status]) => {
    const text = await raw(Buffer.from(bytes, "latin1"));
    expect(statuses(text)).toEqual([status]);
    expect(text).toContain('{"detail":');
  });

  test("too long or too many headers are refused", async () => {
    const long = await raw(lines("GET / HTTP/1.1", ...routed(), `X-Long: ${"x".repeat(20_000)}`));
    const many = await raw(
      lines("GET / HTTP/1.1", ...routed(), ...Array.from({ length: 100_000 }, (_, index) => `x${index}: 1`)),
    );
    expect(statuses(long)).toEqual(["431"]);
    // The router does not read the whole megabyte, so its response may be lost when the connection is reset.
    expect([["431"], []]).toContainEqual(statuses(many));
  });

  test("many short headers are forwarded completely or refused", async () => {
    const headers = Array.from({ length: 2100 }, () => "a: b");
    expect(statuses(await raw(lines("GET /many HTTP/1.1", ...headers, ...routed(), "Connection: close")))).toEqual([
      "200",
    ]);
  });
});

describe("slow clients", () => {
  test("are disconnected if they do not finish their headers", async () => {
    const socket = connect(router.address?.port ?? 0, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n");
    const timer = setInterval(() => socket.write("a: b\r\n"), 50);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(socket, "close");
    clearInterval(timer);
    expect(Buffer.concat(chunks).toString()).toContain("did not arrive in time");
  });

  test("are disconnected if they send nothing", async () => {
    const socket = connect(router.address?.port ?? 0, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    await once(socket, "close");
    expect(socket.destroyed).toBe(true);
  });
});

test.for([
  "/../../etc/passwd",
  "/%2e%2e/%2e%2e/x",
  "/a%00b",
  "/..%2f..%2fx",
  "/\\..\\x",
  "/sandboxes/default/box",
  "/;a=b?c=d;e",
  "/%",
])("a target like %s is the sandbox's to judge", async (path) => {
  arrived.length = 0;
  const text = await raw(lines(`GET ${path} HTTP/1.1`, ...routed(), "Connection: close"));
  expect([statuses(text), arrived]).toEqual([["200"], [`GET ${path} `]]);
});

describe("sandboxes that misbehave", () => {
  const answers = async (bytes: string): Promise<{ status: number; reason: unknown }> => {
    const { createServer } = await import("node:net");
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(bytes));
    });
    server.listen({ host: pod.ip, port: 0 });
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    try {
      const { status, headers } = await ask(router, "/", toSandbox("box", port));
      return { status, reason: headers["x-sandbox-reason"] };
    } catch {
      return { status: 0, reason: "broken off" };
    } finally {
      server.close();
    }
  };

  test.for<[string, string, object]>([
    ["say nothing", "", { status: 502, reason: "BadUpstream" }],
    ["speak another protocol", "220 smtp ready\r\n", { status: 502, reason: "BadUpstream" }],
    [
      "give two lengths",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      { status: 502, reason: "BadUpstream" },
    ],
    [
      "give a length and chunks",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      { status: 502, reason: "BadUpstream" },
    ],
    [
      "switch protocols unasked",
      "HTTP/1.1 101 Switching ProtocolServer\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      { status: 502, reason: "BadUpstream" },
    ],
    [
      "send headers without end",
      `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
      { status: 502, reason: "BadUpstream" },
    ],
    [
      "promise more than they give",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
      { status: 0, reason: "broken off" },
    ],
    [
      "break off their chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      { status: 0, reason: "broken off" },
    ],
  ])("and %s do no harm", async ([, bytes, expected]) => {
    expect(await answers(bytes)).toEqual(expected);
  });
});

test("other clients are served during the attacks", async () => {
  const outcomes: number[] = [];
  const stop = new AbortController();
  const attacks = Array.from({ length: 4 }, async () => {
    while (!stop.signal.aborted) {
      await raw(lines("POST / HTTP/1.1", ...routed(), "Content-Length: 5", "Transfer-Encoding: chunked"), {
        waitMs: 20,
      });
      await raw(lines("GET / HTTP/1.1", ...Array.from({ length: 5000 }, () => "a: b")), { waitMs: 20 });
      await raw("\0\0\0", { waitMs: 20 });
    }
  });
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(router, "/good", toSandbox("box", pod.port))),
    );
    outcomes.push(...answers.map(({ status }) => status));
  }
  stop.abort();
  await Promise.all(attacks);
  expect(outcomes.filter((status) => status === 200)).toHaveLength(200);
});

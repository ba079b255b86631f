import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
let connections = 0;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? "";
  response.sendDate = false;
  if (path === "/early") return void response.writeHead(403, { "content-length": 2 }).end("no");
  if (path === "/empty") return void response.writeHead(204).end();
  if (path === "/same") return void response.writeHead(304, { etag: "x" }).end();
  request.resume().on("end", () => {
    if (path === "/chunks") response.write("one ");
    else response.setHeader("content-length", path.length);
    response.end(path === "/chunks" ? "two" : path);
  });
}

beforeAll(async () => {
  pod = await cluster.serve(answer);
  pod.server.on("connection", () => {
    connections += 1;
  });
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ headMs: 1000 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const head = (line: string, ...headers: string[]): string =>
  `${[line, "Host: x", "X-Sandbox-ID: box", `X-Sandbox-Port: ${pod.port}`, ...headers].join("\r\n")}\r\n\r\n`;

/** A connection to the router and what it has received. */
class Conversation {
  readonly socket: Socket = connect(router.address?.port ?? 0, "127.0.0.1");
  text = "";

  constructor() {
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => {
      this.text += chunk.toString("latin1");
    });
  }

  async until(end: string): Promise<string> {
    while (!this.text.endsWith(end)) await once(this.socket, "data");
    return this.text;
  }

  async closed(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.text;
  }
}

describe("an HTTP/1.1 connection", () => {
  test("serves pipelined requests in order", async () => {
    const talk = new Conversation();
    const post = head("POST /b HTTP/1.1", "Content-Length: 3");
    talk.socket.write(`${head("GET /a HTTP/1.1")}${post}xyz${head("GET /c HTTP/1.1", "Connection: close")}`);
    const text = await talk.closed();
    expect(text.match(/\/[abc]/g)).toEqual(["/a", "/b", "/c"]);
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  });

  test("is reused on both sides", async () => {
    const talk = new Conversation();
    talk.socket.write(head("GET /first HTTP/1.1"));
    await talk.until("/first");
    const before = connections;
    for (const path of ["/second", "/third"]) {
      talk.socket.write(head(`GET ${path} HTTP/1.1`));
      await talk.until(path);
    }
    talk.socket.destroy();
    expect(connections).toBe(before);
  });

  test("continues after a response that was sent before the end of the request", async () => {
    const talk = new Conversation();
    talk.socket.write(`${head("POST /early HTTP/1.1", "Content-Length: 6")}abc`);
    await talk.until("no");
    talk.socket.write(`def${head("GET /next HTTP/1.1")}`);
    expect(await talk.until("/next")).toContain("HTTP/1.1 403");
    talk.socket.destroy();
  });

  test("continues after an error response if the request was complete", async () => {
    const talk = new Conversation();
    talk.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc${head("GET /next HTTP/1.1")}`);
    expect(await talk.until("/next")).toContain("HTTP/1.1 400");
    talk.socket.destroy();
  });

  test("is closed after the response if the client asks for it, in HTTP/1.0 and HTTP/1.1", async () => {
    for (const line of ["GET /a HTTP/1.0", "GET /a HTTP/1.1"]) {
      const talk = new Conversation();
      talk.socket.write(head(line, "Connection: close"));
      expect(await talk.closed()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*\/a$/);
    }
  });
});

describe("bodies", () => {
  test("of unknown length are chunked in HTTP/1.1 and end with the connection in HTTP/1.0", async () => {
    const modern = new Conversation();
    modern.socket.write(head("GET /chunks HTTP/1.1"));
    expect(await modern.until("0\r\n\r\n")).toMatch(/Transfer-Encoding: chunked\r\n\r\n[^]*one [^]*two/);
    modern.socket.destroy();
    const old = new Conversation();
    old.socket.write(head("GET /chunks HTTP/1.0"));
    expect(await old.closed()).toMatch(/\r\n\r\none two$/);
  });

  test("that end with the sandbox's connection are complete", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end("HTTP/1.0 200 OK\r\n\r\nuntil the end"));
    });
    server.listen({ host: pod.ip, port: 0 });
    await once(server, "listening");
    const { text } = await ask(router, "/", toSandbox("box", (server.address() as AddressInfo).port));
    server.close();
    expect(text).toBe("until the end");
  });

  test.for<[string, string, RegExp]>([
    ["HEAD has none", "HEAD /head HTTP/1.1", /content-length: 5\r\n\r\n$/i],
    ["204 has none", "GET /empty HTTP/1.1", /204 No Content\r\n(?:[^\r]+\r\n)*\r\n$/],
    ["304 has none", "GET /same HTTP/1.1", /304 Not Modified\r\n(?:[^\r]+\r\n)*\r\n$/],
  ])("%s", async ([, line, expected]) => {
    const talk = new Conversation();
    talk.socket.write(head(line));
    await talk.until("\r\n\r\n");
    expect(talk.text).toMatch(expected);
    const before = talk.text.length;
    talk.socket.write(head("GET /next HTTP/1.1"));
    await talk.until("/next");
    expect(talk.text.slice(before)).toMatch(/^HTTP\/1\.1 200 OK/);
    talk.socket.destroy();
  });
});

test("a response without a request is not delivered to anyone", async () => {
  let served = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => {
      served += 1;
      const body = `answer ${served}`;
      const unasked = served === 1 ? "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison" : "";
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}${unasked}`);
    });
  });
  server.listen({ host: pod.ip, port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const texts = [];
  for (let turn = 0; turn < 3; turn += 1) texts.push((await ask(router, "/", toSandbox("box", port))).text);
  server.close();
  expect(texts).toEqual(["answer 1", "answer 2", "answer 3"]);
});

test("the body of a request to the router's own endpoints has a timeout", async () => {
  const talk = new Conversation();
  const path = "/router/v1/namespaces/default/sandboxes/box/logins";
  talk.socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{`);
  expect(await talk.closed()).toMatch(/^HTTP\/1\.1 400 [^]*did not arrive in time/);
});

import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, type Served, TestCluster } from "./cluster.test.support.ts";
import { rawHttp2Server } from "./raw-http2.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
let session: ClientHttp2Session;
let grpc: ReturnType<typeof createHttp2Server>;
let port: number;

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.writeHead(404).end("no page"));
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  router = await cluster.router({ timeoutMs: 400 });
  grpc = createHttp2Server();
  grpc.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => undefined);
    if (headers[":path"] === "/cut") return stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    if (headers[":path"] === "/hold") return stream.respond({ ":status": 200, "content-type": "application/grpc" });
    if (headers[":path"] === "/refuse")
      return stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-status": "5" },
        { endStream: true },
      );
    stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "x-token": String(headers["x-sandbox-token"]),
        "x-te": String(headers["te"]),
      },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "fine" }));
    stream.pipe(stream);
  });
  grpc.listen({ host: pod.ip, port: 0 });
  await once(grpc, "listening");
  port = (grpc.address() as AddressInfo).port;
  session = connectHttp2(router.url);
  session.on("error", () => undefined);
});
afterAll(async () => {
  session.destroy();
  grpc.close();
  await cluster[Symbol.asyncDispose]();
});

async function call(
  path: string,
  headers: Record<string, string>,
  body = "",
): Promise<{ headers: Record<string, unknown>; trailers: Record<string, unknown>; text: string }> {
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  let trailers: Record<string, unknown> = {};
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.end(body);
  const [received] = (await once(stream, "response")) as [Record<string, unknown>];
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { headers: received, trailers, text: Buffer.concat(chunks).toString() };
}

const grpcTo = (more: Record<string, string> = {}) => ({
  "content-type": "application/grpc",
  te: "trailers",
  "x-sandbox-id": "box",
  "x-sandbox-port": String(port),
  ...more,
});

test("forwards gRPC with trailers and without the router's own headers", async () => {
  const { headers, trailers, text } = await call(
    "/process.v1.ProcessService/Start",
    grpcTo({ "x-sandbox-token": "spoofed" }),
    "message",
  );
  expect([headers[":status"], headers["x-token"], headers["x-te"], text]).toEqual([
    200,
    "undefined",
    "trailers",
    "message",
  ]);
  expect([trailers["grpc-status"], trailers["grpc-message"]]).toEqual(["0", "fine"]);
});

test("forwards a bidirectional gRPC stream without a timeout", async () => {
  const stream = session.request({ ":method": "POST", ":path": "/stream", ...grpcTo() });
  await once(stream, "response");
  for (const text of ["one", "two", "three"]) {
    stream.write(text);
    expect(String((await once(stream, "data"))[0])).toBe(text);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  stream.end();
  await once(stream, "end");
});

test("cancels a gRPC call in the sandbox when the client cancels it", async () => {
  const arrived = once(grpc, "stream");
  const stream = session.request({ ":method": "POST", ":path": "/hold", ...grpcTo() });
  stream.end("asked");
  const [held] = (await arrived) as [ServerHttp2Stream];
  await once(stream, "response");
  const ended = once(held, "close");
  stream.close(constants.NGHTTP2_CANCEL);
  await ended;
  expect(held.rstCode).toBe(constants.NGHTTP2_CANCEL);
});

test("forwards a trailers-only response", async () => {
  expect((await call("/refuse", grpcTo())).headers["grpc-status"]).toBe("5");
});

test.for([
  ["no such sandbox", () => grpcTo({ "x-sandbox-id": "nope" }), "5", "SandboxNotFound"],
  ["nothing that listens", () => grpcTo({ "x-sandbox-port": "1" }), "14", "Refused"],
  ["no sandbox", () => grpcTo({ "x-sandbox-id": "NOPE" }), "3", "InvalidRequest"],
] as const)("answers a gRPC call to %s in gRPC's own way", async ([, headers, status, reason]) => {
  const { headers: received } = await call("/", headers());
  expect([received[":status"], received["grpc-status"], received["x-sandbox-reason"]]).toEqual([200, status, reason]);
});

test("does not end a gRPC call normally if the sandbox aborted it", async () => {
  const { headers, trailers } = await call("/cut", grpcTo());
  expect([headers["grpc-status"], trailers["grpc-status"]]).toEqual(["14", undefined]);
});

test("forwards HTTP/2 requests to a sandbox with HTTP/1.1", async () => {
  const { headers, text } = await call("/", { "x-sandbox-id": "box", "x-sandbox-port": String(pod.port) }, "body");
  expect([headers[":status"], text]).toEqual([404, "no page"]);
});

test.for([
  ["says twice what may be said once", "200 OK\r\nETag: a\r\nETag: b\r\nLocation: a\r\nLocation: b", 200],
  [
    "sends what only HTTP/1.1 knows",
    "200 OK\r\nHTTP2-Settings: a\r\nKeep-Alive: timeout=5\r\nTE: x\r\nProxy-Connection: x",
    200,
  ],
  ["gives a header the name of HTTP/2's own", "200 OK\r\n:status: 200", 502],
  ["answers with a status that there is none of", "999 Nine\r\nX: y", 502],
] as const)("survives a sandbox that %s", async ([, lines, status]) => {
  const odd = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(`HTTP/1.1 ${lines}\r\nContent-Length: 2\r\n\r\nok`));
  });
  odd.listen({ host: pod.ip, port: 0 });
  await once(odd, "listening");
  const to = { "x-sandbox-id": "box", "x-sandbox-port": String((odd.address() as AddressInfo).port) };
  const { headers } = await call("/", to);
  odd.close();
  expect(headers[":status"]).toBe(status);
});

const [fine, odd] = [
  [":status", "200"],
  ["http2-settings", "x"],
] as const;
test.for([
  ["answers with a status that there is none of", [[[":status", "999"]]]],
  ["sends what only HTTP/1.1 knows", [[fine, odd]]],
  ["ends with what only HTTP/1.1 knows", [[fine], [["grpc-status", "0"], odd]]],
] as const)("survives a sandbox that speaks HTTP/2 and %s", async ([, blocks]) => {
  const server = rawHttp2Server(blocks);
  server.listen({ host: pod.ip, port: 0 });
  await once(server, "listening");
  const to = grpcTo({ "x-sandbox-port": String((server.address() as AddressInfo).port) });
  const { headers, trailers } = await call("/", to).catch(() => ({ headers: {}, trailers: {} }));
  server.close();
  expect([{ ...headers, ...trailers }["http2-settings"], (await ask(router, "/healthz")).status]).toEqual([
    undefined,
    200,
  ]);
});

test("does not end a response normally if the sandbox aborted it", async () => {
  const cut = createServer((socket) => {
    socket.on("error", () => undefined);
    const chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    socket.once("data", () => socket.write(chunk, () => socket.destroy()));
  });
  cut.listen({ host: pod.ip, port: 0 });
  await once(cut, "listening");
  const to = { "x-sandbox-id": "box", "x-sandbox-port": String((cut.address() as AddressInfo).port) };
  await expect(call("/", to)).rejects.toThrow("NGHTTP2_INTERNAL_ERROR");
  cut.close();
});

test("serves HTTP/1.1 on the same port", async () => {
  expect((await ask(router, "/healthz")).status).toBe(200);
});

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
let sockets: WebSocketServer;

beforeAll(async () => {
  pod = await cluster.serve((request, response) => {
    const received = request.headers["x-sandbox-epoch"] ?? "none";
    response.writeHead(200, { "X-Sandbox-Epoch": "666", connection: "x-sandbox-epoch, keep-alive" }).end(received);
  });
  sockets = new WebSocketServer({ server: pod.server });
  const resumed = await cluster.sandbox("resumed");
  await cluster.pod(resumed, pod.ip);
  await cluster.sandboxStatus(resumed, { suspension: { epoch: 7 } });
  await cluster.pod(await cluster.sandbox("fresh"), pod.ip);
  router = await cluster.router();
});
afterAll(() => {
  sockets.close();
  return cluster[Symbol.asyncDispose]();
});

describe("the epoch of a sandbox", () => {
  test.for([
    ["resumed", "7", "7"],
    ["fresh", "none", undefined],
  ] as const)("is told to %s and to its client, and neither can forge it", async ([name, text, told]) => {
    const forged = toSandbox(name, pod.port, { "X-Sandbox-Epoch": "5", X_Sandbox_Epoch: "5" });
    const answer = await ask(router, "/", forged);
    expect([answer.text, answer.headers["x-sandbox-epoch"]]).toEqual([text, told]);
  });

  test("is told over HTTP/2", async () => {
    const session = connectHttp2(router.url);
    const stream = session.request({ ":path": "/", ...toSandbox("resumed", pod.port).headers });
    const [headers] = (await once(stream, "response")) as [Record<string, string>];
    session.destroy();
    expect(headers["x-sandbox-epoch"]).toBe("7");
  });

  test.for([
    ["CONNECT resumed.default.localhost", ""],
    ["GET http://resumed.default.localhost", "Connection: Upgrade\r\nUpgrade: websocket\r\n"],
  ] as const)("is in the response that accepts %s", async ([start, more]) => {
    const socket = connect(router.address?.port ?? 0, "127.0.0.1");
    const target = start.startsWith("GET")
      ? `${start.replace("resumed", `${pod.port}-resumed`)}/`
      : `${start}:${pod.port}`;
    const key = "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n";
    socket.write(`${target} HTTP/1.1\r\nHost: ${pod.port}-resumed.default.localhost\r\n${key}${more}\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(head.toString("latin1").match(/^x-sandbox-epoch: .*$/gim)).toEqual(["x-sandbox-epoch: 7"]);
  });
});

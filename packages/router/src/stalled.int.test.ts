import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, endless, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";

const cluster = new TestCluster();
let pod: Served;
/** Endless responses that the router has aborted. */
let givenUp = 0;
beforeAll(async () => {
  pod = await cluster.serve((request, response) => {
    if (request.url === "/endless") endless(response).on("close", () => (givenUp += 1));
    else if (request.url === "/early") request.once("data", () => response.writeHead(403).end("no"));
    else response.end("x".repeat(1_000_000));
  });
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
});
afterAll(() => cluster[Symbol.asyncDispose]());

test("clients that do not read are limited in total, and others are served", async () => {
  const router = await cluster.router({ maxQueuedBytes: 2 ** 20 });
  const { port = 0 } = router.address ?? {};
  const head = `GET /endless HTTP/1.1\r\nHost: x\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: ${pod.port}\r\n\r\n`;
  const stalled = Array.from({ length: 24 }, (): Socket => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(head);
    return socket.pause();
  });
  // A stream counts from 64 KiB on, so at most sixteen fit.
  await expect.poll(() => givenUp, { timeout: 20_000 }).toBeGreaterThanOrEqual(8);
  const { status, text } = await ask(router, "/", toSandbox("box", pod.port));
  expect([status, text.length]).toEqual([200, 1_000_000]);
  for (const socket of stalled) socket.destroy();
});

test("an HTTP/2 stream ends with its response even if the client continues to send", async () => {
  const router = await cluster.router();
  const session = connectHttp2(router.url);
  const call = session.request({ ":method": "POST", ":path": "/early", ...toSandbox("box", pod.port).headers });
  call.on("error", () => undefined);
  call.write("some of it");
  const [answer] = (await once(call, "response")) as [Record<string, unknown>];
  call.resume();
  await once(call, "close");
  session.destroy();
  expect([answer[":status"], call.rstCode]).toEqual([403, 0]);
});

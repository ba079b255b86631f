import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ProtocolServer } from "../listen/protocol-server.ts";
import { Backlog } from "../proxy/backlog.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { sendResponse } from "../request/response-writer.ts";

const received: ClientRequest[] = [];
let server: Server;
let protocols: ProtocolServer;
beforeAll(async () => {
  protocols = new ProtocolServer({
    onRequest: (client) => void received.push(client),
    backlog: new Backlog(2 ** 30),
    maxHeaderBytes: 16_384,
    headMs: 100,
    idleMs: 100,
  });
  server = createServer({ allowHalfOpen: true }, (socket) => protocols.accept(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  protocols.destroy();
  server.close();
});

const session = (): ClientHttp2Session => {
  const opened = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return opened.on("error", () => undefined);
};

test("an HTTP/2 connection without requests is closed, even if it sends pings", async () => {
  const silent = session();
  const pinging = session();
  const ping = (): void => void (pinging.closed || pinging.destroyed || pinging.ping(ping));
  pinging.on("connect", ping);
  await Promise.all([once(silent, "close"), once(pinging, "close")]);
  expect([silent.destroyed, pinging.destroyed]).toEqual([true, true]);
});

test("an HTTP/2 connection is kept during a request and closed when it has been idle for a while", async () => {
  const busy = session();
  const call = busy.request({ ":path": "/" });
  const clock = session();
  await once(clock, "close");
  expect([busy.closed, received.length]).toEqual([false, 1]);
  if (received[0] !== undefined) sendResponse(received[0].response, { status: 200, headers: [] });
  call.resume();
  await once(busy, "close");
  expect(call.destroyed).toBe(true);
});

import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerWhole } from "./answer.ts";
import { Backlog } from "./backlog.ts";
import type { Incoming } from "./incoming.ts";
import { Protocols } from "./listeners.ts";

const asked: Incoming[] = [];
let server: Server;
let protocols: Protocols;
beforeAll(async () => {
  const handlers = {
    request: (incoming: Incoming) => void asked.push(incoming),
    upgrade: () => Promise.resolve(),
    connect: () => Promise.resolve(),
  };
  protocols = new Protocols({
    handlers,
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

test("a connection on which nothing is asked is closed, whatever else is said on it", async () => {
  const silent = session();
  const pinging = session();
  const ping = (): void => void (pinging.closed || pinging.destroyed || pinging.ping(ping));
  pinging.on("connect", ping);
  await Promise.all([once(silent, "close"), once(pinging, "close")]);
  expect([silent.destroyed, pinging.destroyed]).toEqual([true, true]);
});

test("one with a request under way is kept, and closed when there has been none for a while", async () => {
  const busy = session();
  const call = busy.request({ ":path": "/" });
  const clock = session();
  await once(clock, "close");
  expect([busy.closed, asked.length]).toEqual([false, 1]);
  if (asked[0] !== undefined) answerWhole(asked[0].answer, { status: 200, headers: [] });
  call.resume();
  await once(busy, "close");
  expect(call.destroyed).toBe(true);
});

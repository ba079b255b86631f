import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Deadlines } from "../deadlines.ts";
import { Backlog } from "../proxy/backlog.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { sendResponse } from "../request/response-writer.ts";
import { ClientConnection } from "./client-connection.ts";

test("stops reading requests while the client does not read the responses, and continues when it does", async () => {
  const [near, far] = duplexPair();
  using deadlines = new Deadlines(1000);
  let received = 0;
  const onRequest = ({ response }: ClientRequest): void => {
    received += 1;
    sendResponse(response, { status: 200, headers: [], body: "x".repeat(1000) });
  };
  const connectionInfo = { key: "", peer: "10.0.0.1", isSecure: false, certificate: undefined };
  const limits = { backlog: new Backlog(2 ** 30), maxHeaderBytes: 16_384, headMs: 10_000, idleMs: 10_000 };
  const connection = new ClientConnection(near as unknown as Socket, {
    connectionInfo,
    onRequest,
    deadlines,
    ...limits,
    onGone: () => undefined,
  });
  const all = 10_000;
  far.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(all));
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(received).toBeLessThan(all / 10);
  far.resume();
  await expect.poll(() => received).toBe(all);
  connection.drain();
});

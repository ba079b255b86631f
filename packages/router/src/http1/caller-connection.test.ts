import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Deadlines } from "../deadlines.ts";
import { answerWhole } from "../proxy/answer.ts";
import { Backlog } from "../proxy/backlog.ts";
import { CallerConnection } from "./caller-connection.ts";

test("takes no more requests while the caller reads none of the answers, and goes on when it does", async () => {
  const [near, far] = duplexPair();
  using deadlines = new Deadlines(1000);
  let asked = 0;
  const handlers = {
    request: ({ answer }: { answer: Parameters<typeof answerWhole>[0] }): void => {
      asked += 1;
      answerWhole(answer, { status: 200, headers: [], body: "x".repeat(1000) });
    },
    upgrade: () => Promise.resolve(),
    connect: () => Promise.resolve(),
  };
  const limits = { backlog: new Backlog(2 ** 30), maxHeaderBytes: 16_384, headMs: 10_000, idleMs: 10_000 };
  const connection = new CallerConnection(near as unknown as Socket, {
    handlers,
    deadlines,
    ...limits,
    onGone: () => undefined,
  });
  const all = 10_000;
  far.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(all));
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(asked).toBeLessThan(all / 10);
  far.resume();
  await expect.poll(() => asked).toBe(all);
  connection.drain();
});

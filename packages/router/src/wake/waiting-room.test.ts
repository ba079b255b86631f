import { expect, test } from "vitest";
import { type Held, refuseWaiter, WaitingRoom, type WaitingRoomLimits } from "./waiting-room.ts";

const limits: WaitingRoomLimits = { perSandbox: 2, inAll: 5, bytesInAll: 100 };

test.for<[string, Held, number, boolean]>([
  ["an empty room", { count: 0, bytes: 0, ofSandbox: 0 }, 10, true],
  ["the last place for a sandbox", { count: 1, bytes: 0, ofSandbox: 1 }, 10, true],
  ["no place for a sandbox", { count: 2, bytes: 0, ofSandbox: 2 }, 10, false],
  ["the last place in all", { count: 4, bytes: 0, ofSandbox: 0 }, 10, true],
  ["no place in all", { count: 5, bytes: 0, ofSandbox: 0 }, 10, false],
  ["the last byte", { count: 1, bytes: 90, ofSandbox: 0 }, 10, true],
  ["a byte too many", { count: 1, bytes: 91, ofSandbox: 0 }, 10, false],
])("%s", ([, held, bytes, expected]) => {
  expect(refuseWaiter(held, bytes, limits) === undefined).toBe(expected);
});

test("gives places back, and forgets sandboxes nobody waits for", () => {
  const room = new WaitingRoom(limits);
  const places = [room.enter("a", 30), room.enter("a", 30)];
  expect(() => room.enter("a", 1)).toThrow("2 requests wait for this sandbox already");
  expect(() => room.enter("b", 41)).toThrow("too many bytes");
  for (const place of places) place[Symbol.dispose]();
  expect(room.count).toBe(0);
  room.enter("b", 100)[Symbol.dispose]();
  expect(room.count).toBe(0);
});

import { expect, test } from "vitest";
import { WaitingRoom, type WaitingRoomLimits } from "./waiting-room.ts";

const limits: WaitingRoomLimits = { perSandbox: 2, inAll: 10, bytesInAll: 200 };
const in_ = (namespace: string, name = "a") => ({ namespace, name });

test("gives places back, and forgets sandboxes nobody waits for", () => {
  const room = new WaitingRoom(limits);
  const places = [room.enter(in_("n"), 30), room.enter(in_("n"), 30)];
  expect(() => room.enter(in_("n"), 1)).toThrow("2 requests wait for this sandbox already");
  expect(() => room.enter(in_("n", "b"), 90)).toThrow("too many bytes");
  for (const place of places) place[Symbol.dispose]();
  expect(room.count).toBe(0);
  room.enter(in_("n", "b"), 200)[Symbol.dispose]();
  expect(room.count).toBe(0);
});

test("the requests of one namespace leave room for those of another", () => {
  const room = new WaitingRoom({ perSandbox: 100, inAll: 10, bytesInAll: 1000 });
  const flood = (): unknown => room.enter(in_("greedy"), 1);
  for (let turn = 0; turn < 5; turn += 1) flood();
  expect(flood).toThrow("the namespace has its share");
  expect(() => room.enter(in_("other"), 1)).not.toThrow();
});

test("the bytes of one namespace leave room for those of another", () => {
  const room = new WaitingRoom({ perSandbox: 100, inAll: 100, bytesInAll: 100 });
  room.enter(in_("greedy"), 50);
  expect(() => room.enter(in_("greedy"), 1)).toThrow("too many bytes");
  expect(() => room.enter(in_("other"), 50)).not.toThrow();
});

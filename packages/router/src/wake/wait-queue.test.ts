import { expect, test } from "vitest";
import { type WaitLimits, WaitQueue } from "./wait-queue.ts";

const limits: WaitLimits = { perSandbox: 2, total: 10, totalBytes: 200 };
const sandboxIn = (namespace: string, name = "a") => ({ namespace, name });

test("a request that no longer waits does not count", () => {
  const queue = new WaitQueue(limits);
  const waiting = [queue.add(sandboxIn("n"), 30), queue.add(sandboxIn("n"), 30)];
  expect(() => queue.add(sandboxIn("n"), 1)).toThrow("2 requests wait for this sandbox");
  expect(() => queue.add(sandboxIn("n", "b"), 90)).toThrow("too many bytes");
  for (const request of waiting) request[Symbol.dispose]();
  expect(queue.count).toBe(0);
  queue.add(sandboxIn("n", "b"), 200)[Symbol.dispose]();
  expect(queue.count).toBe(0);
});

test("the requests of one namespace leave room for those of another", () => {
  const queue = new WaitQueue({ perSandbox: 100, total: 10, totalBytes: 1000 });
  const flood = (): unknown => queue.add(sandboxIn("greedy"), 1);
  for (let turn = 0; turn < 5; turn += 1) flood();
  expect(flood).toThrow("the namespace has reached its share");
  expect(() => queue.add(sandboxIn("other"), 1)).not.toThrow();
});

test("the bytes of one namespace leave room for those of another", () => {
  const queue = new WaitQueue({ perSandbox: 100, total: 100, totalBytes: 100 });
  queue.add(sandboxIn("greedy"), 50);
  expect(() => queue.add(sandboxIn("greedy"), 1)).toThrow("too many bytes");
  expect(() => queue.add(sandboxIn("other"), 50)).not.toThrow();
});

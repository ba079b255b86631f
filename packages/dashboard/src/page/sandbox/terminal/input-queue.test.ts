import { expect, test } from "vitest";
import { InputQueue } from "./input-queue.ts";

/** A queue whose calls end when the test says so. */
function start() {
  const sent: string[] = [];
  const lost: string[] = [];
  const calls: PromiseWithResolvers<void>[] = [];
  const queue = new InputQueue(
    (text) => {
      sent.push(text);
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
    (error) => lost.push((error as Error).message),
  );
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { queue, sent, lost, calls, settle };
}

test("sends one call at a time, and what was typed meanwhile together", async () => {
  const { queue, sent, calls, settle } = start();
  queue.add("l");
  expect(sent).toEqual([]);
  queue.open();
  for (const key of ["s", " ", "-", "l"]) queue.add(key);
  expect(sent).toEqual(["l"]);
  calls[0]?.resolve();
  await settle();
  expect(sent).toEqual(["l", "s -l"]);
});

test("cuts large input into pieces between characters", async () => {
  const { queue, sent, calls, settle } = start();
  const text = `${"x".repeat(16 * 1024 - 1)}\u{1f680}${"y".repeat(100)}`;
  queue.open();
  queue.add(text);
  calls[0]?.resolve();
  await settle();
  expect(sent.join("")).toBe(text);
  expect(sent.map((piece) => piece.isWellFormed())).toEqual([true, true]);
});

test("reports lost input, and goes on", async () => {
  const { queue, sent, lost, calls, settle } = start();
  queue.open();
  queue.add("a");
  queue.add("b");
  calls[0]?.reject(new Error("lost"));
  await settle();
  queue.add("c");
  expect([sent, lost]).toEqual([["a", "c"], ["lost"]]);
});

test("refuses input that no program reads", () => {
  const { queue, lost } = start();
  queue.add("x".repeat(1024 * 1024));
  expect(lost).toEqual([]);
  queue.add("x");
  expect(lost).toHaveLength(1);
});

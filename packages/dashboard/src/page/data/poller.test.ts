import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Poller } from "./poller.ts";

const options = { everyMs: 1, mostReads: 3, isHidden: () => false };

function counting(poller: Poller<unknown>): { count: number } {
  const seen = { count: 0 };
  poller.subscribe(() => {
    seen.count += 1;
  });
  return seen;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(1);
}

test("reads a limited number of times, and again after a refresh", async () => {
  let reads = 0;
  const poller = new Poller(async () => ++reads, options);
  const seen = counting(poller);
  const stop = poller.start();
  await until(() => poller.snapshot().isPaused);
  await sleep(20);
  expect([reads, seen.count, poller.snapshot().value]).toEqual([3, 3, 3]);
  poller.refresh();
  await until(() => reads === 6);
  stop();
});

test("keeps the last value when a read fails", async () => {
  let reads = 0;
  const failure = new Error("the sandbox is gone");
  const poller = new Poller(() => (++reads === 1 ? Promise.resolve("value") : Promise.reject(failure)), options);
  const stop = poller.start();
  await until(() => poller.snapshot().isPaused);
  expect(poller.snapshot()).toEqual({ value: "value", error: failure, isPaused: true });
  stop();
});

test("reads once while the page is hidden, and goes on when it is shown", async () => {
  let reads = 0;
  let hidden = true;
  const poller = new Poller(async () => ++reads, { ...options, isHidden: () => hidden });
  const stop = poller.start();
  await sleep(20);
  expect(reads).toBe(1);
  hidden = false;
  await until(() => reads === 3);
  stop();
});

test("ends the read under way when it is stopped, and reports nothing more", async () => {
  let ended = false;
  const read = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        ended = true;
        resolve("late");
      });
    });
  const poller = new Poller(read, options);
  const seen = counting(poller);
  poller.start()();
  await sleep(5);
  expect([ended, seen.count, poller.snapshot().value]).toEqual([true, 0, undefined]);
});

test("reads again when a refresh comes during a read", async () => {
  const first = Promise.withResolvers<void>();
  let reads = 0;
  const poller = new Poller(
    async () => {
      reads += 1;
      if (reads === 1) await first.promise;
    },
    { ...options, everyMs: 2 ** 30 },
  );
  const stop = poller.start();
  await until(() => reads === 1);
  poller.refresh();
  expect(reads).toBe(1);
  first.resolve();
  await until(() => reads === 2);
  stop();
});

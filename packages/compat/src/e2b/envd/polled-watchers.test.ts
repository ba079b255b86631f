import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Target } from "../../runtime/runtime.ts";
import { PolledWatchers } from "./polled-watchers.ts";
import type { WatchMessage } from "./watch-events.ts";

const target = (uid: string): Target => ({ namespace: "team", name: "a", uid, token: "t" });

/** A watch that reports this many changes and then waits. */
async function* changes(count: number, signal: AbortSignal): AsyncGenerator<WatchMessage> {
  yield { start: {} };
  for (let index = 0; index < count; index++) {
    yield { filesystem: { name: `f${index}`, type: "EVENT_TYPE_CREATE" } };
  }
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await setImmediate();
};

test("events are taken once", async () => {
  using watchers = new PolledWatchers();
  const id = await watchers.create(target("u1"), (signal) => changes(2, signal));
  await settle();
  expect(watchers.take(target("u1"), id).map(({ name }) => name)).toEqual(["f0", "f1"]);
  expect(watchers.take(target("u1"), id)).toEqual([]);
});

test("the watcher of a sandbox does not exist for another one", async () => {
  using watchers = new PolledWatchers();
  const id = await watchers.create(target("u1"), (signal) => changes(0, signal));
  expect(() => watchers.take(target("u2"), id)).toThrow(/not found/);
  expect(() => watchers.remove(target("u2"), id)).toThrow(/not found/);
  watchers.remove(target("u1"), id);
  expect(() => watchers.take(target("u1"), id)).toThrow(/not found/);
});

test("events that nobody fetches are bounded: one error, then it goes on (63)", async () => {
  using watchers = new PolledWatchers();
  const id = await watchers.create(target("u1"), (signal) => changes(5000, signal));
  await expect
    .poll(() => {
      try {
        watchers.take(target("u1"), id);
        return "events";
      } catch (error) {
        return String(error);
      }
    })
    .toMatch(/4096 events/);
  expect(() => watchers.take(target("u1"), id)).not.toThrow();
});

test("events with long names are bounded by their size", async () => {
  using watchers = new PolledWatchers();
  const long = { filesystem: { name: "x".repeat(100_000), type: "EVENT_TYPE_CREATE" } };
  const id = await watchers.create(target("u1"), async function* () {
    yield { start: {} };
    for (let index = 0; index < 11; index++) yield long;
  });
  await settle();
  expect(() => watchers.take(target("u1"), id)).toThrow(/lost/);
});

test("a namespace cannot use up the watchers of all", async () => {
  using watchers = new PolledWatchers();
  const open = (place: Target): Promise<string> => watchers.create(place, (signal) => changes(0, signal));
  for (let count = 0; count < 200; count++) await open(target(`u${count}`));
  await expect(open(target("u200"))).rejects.toThrow(/too many watchers/);
  await open({ ...target("u201"), namespace: "other" });
});

test("a sandbox has a limited number of watchers", async () => {
  using watchers = new PolledWatchers();
  const open = (uid: string): Promise<string> => watchers.create(target(uid), (signal) => changes(0, signal));
  for (let count = 0; count < 16; count++) await open("u1");
  await expect(open("u1")).rejects.toThrow(/too many watchers/);
  await open("u2");
});

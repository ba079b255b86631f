import { expect, test } from "vitest";
import { RunningRequests } from "./running-requests.ts";

test("a session cancels its own requests only", () => {
  const all = new RunningRequests();
  const place = { user: "anna", session: "s" };
  const [first, second] = [new AbortController(), new AbortController()];
  using _first = all.add(place, [1, "1"], first);
  using _second = all.add({ user: "anna", session: undefined }, [2], second);
  for (const [other, id] of [
    [{ user: "bert", session: "s" }, 1],
    [{ user: "anna", session: "t" }, 1],
    [{ user: "anna", session: undefined }, 1],
    [{ user: "anna", session: undefined }, 2],
    [place, 2],
  ] as const) {
    all.cancel(other, id);
  }
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
  all.cancel(place, "1");
  expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
});

test("nothing is kept of requests that have ended", () => {
  const all = new RunningRequests();
  const place = { user: "anna", session: "s" };
  const [first, second] = [new AbortController(), new AbortController()];
  const one = all.add(place, [1], first);
  const two = all.add(place, [1], second);
  one[Symbol.dispose]();
  all.cancel(place, 1);
  expect([all.size, first.signal.aborted, second.signal.aborted]).toEqual([1, false, true]);
  two[Symbol.dispose]();
  expect(all.size).toBe(0);
});

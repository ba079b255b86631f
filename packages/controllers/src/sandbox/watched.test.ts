import { expect, test } from "vitest";
import { watchStates } from "./watched.ts";

test("counts how long each state lasts, restarts when it changes, and drops states that ended", () => {
  const first = watchStates({}, { quiet: "a", failed: "x" }, 1_000);
  expect(first.watched).toEqual({ quiet: 0, failed: 0 });
  const second = watchStates(first.since, { quiet: "a", failed: "y" }, 1_500);
  expect(second.watched).toEqual({ quiet: 500, failed: 0 });
  const third = watchStates(second.since, { quiet: "a" }, 2_000);
  expect(third.watched).toEqual({ quiet: 1_000 });
  const fourth = watchStates(third.since, { quiet: "a", failed: "y" }, 2_500);
  expect(fourth.watched).toEqual({ quiet: 1_500, failed: 0 });
  expect(watchStates(fourth.since, {}, 3_000)).toEqual({ watched: {}, since: {} });
});

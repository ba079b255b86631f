import { expect, test } from "vitest";
import { StateWatch } from "./watched.ts";

test("counts how long each state lasts, restarts when it changes, and drops states that ended", () => {
  let now = 1_000;
  const watch = new StateWatch(() => now);
  expect(watch.look("k", { quiet: "a", failed: "x" })).toEqual({ quiet: 0, failed: 0 });
  now += 500;
  expect(watch.look("k", { quiet: "a", failed: "y" })).toEqual({ quiet: 500, failed: 0 });
  now += 500;
  expect(watch.look("k", { quiet: "a" })).toEqual({ quiet: 1_000 });
  now += 500;
  expect(watch.look("k", { quiet: "a", failed: "y" })).toEqual({ quiet: 1_500, failed: 0 });
  expect(watch.look("other", { quiet: "a" })).toEqual({ quiet: 0 });
  expect(watch.size).toBe(2);
  watch.forget("k");
  expect(watch.look("other", {})).toEqual({});
  expect(watch.size).toBe(0);
});

import { expect, test } from "vitest";
import { KeyCounts } from "./key-counts.ts";

test("counts by key and in total, and removes keys whose count is 0", () => {
  const counts = new KeyCounts();
  counts.add("a");
  counts.add("a", 4);
  counts.add("b");
  expect([counts.of("a"), counts.of("b"), counts.of("c"), counts.total, counts.keys]).toEqual([5, 1, 0, 6, 2]);
  expect(counts.largest()).toBe("a");
  counts.add("a", -5);
  expect([counts.of("a"), counts.total, counts.keys]).toEqual([0, 1, 1]);
  expect(counts.largest()).toBe("b");
  counts.add("b", -1);
  expect(counts.largest()).toBeUndefined();
});

import { expect, test } from "vitest";
import { laterVersion } from "./version.ts";

test.for<[string, string | undefined, string]>([
  ["9", "10", "10"],
  ["10", "9", "10"],
  ["10", undefined, "10"],
  ["10", "10", "10"],
  ["99999999999999999998", "99999999999999999999", "99999999999999999999"],
  ["", "4", "4"],
  ["opaque-b", "opaque-a", "opaque-a"],
])("after %j, %j leaves %j", ([known, seen, expected]) => {
  expect(laterVersion(known, seen)).toBe(expected);
});

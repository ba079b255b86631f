import { describe, expect, test } from "vitest";
import { compareVersions, includesVersion, laterVersion } from "./resource-version.ts";

describe("compareVersions()", () => {
  test.for<[string | undefined, string | undefined, number | undefined]>([
    ["5", "5", 0],
    ["9", "10", -1],
    ["100000000000000000001", "100000000000000000002", -1],
    ["12", "11", 1],
    ["abc", "abc", 0],
    ["abc", "abd", undefined],
    ["12", "abd", undefined],
    ["012", "11", undefined],
    ["", "1", undefined],
    [undefined, "1", undefined],
  ])("%s and %s", ([a, b, expected]) => {
    const sign = compareVersions(a, b);
    expect(sign === undefined ? undefined : Math.sign(sign)).toBe(expected);
  });
});

test("includesVersion() is false for versions that cannot be compared", () => {
  expect([includesVersion("abc", "5"), includesVersion(undefined, "5"), includesVersion("5", "5")]).toEqual([
    false,
    false,
    true,
  ]);
});

describe("laterVersion()", () => {
  test.for<[string, string | undefined, string]>([
    ["9", "10", "10"],
    ["10", "9", "10"],
    ["10", undefined, "10"],
    ["10", "10", "10"],
    ["99999999999999999998", "99999999999999999999", "99999999999999999999"],
    ["", "4", "4"],
    ["opaque-b", "opaque-a", "opaque-a"],
  ])("of %j and %j is %j", ([known, received, expected]) => {
    expect(laterVersion(known, received)).toBe(expected);
  });
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareTimes, formatMicroTime, formatTime, parseTime } from "./time.ts";

const at = Date.UTC(2026, 0, 31, 15, 4, 5);

describe("parseTime()", () => {
  test.for([
    ["2026-01-31T15:04:05Z", BigInt(at) * 1_000_000n],
    ["2026-01-31T17:34:05+02:30", BigInt(at) * 1_000_000n],
    ["2026-01-31T10:04:05-05:00", BigInt(at) * 1_000_000n],
    ["2026-01-31T15:04:05.123456789Z", BigInt(at) * 1_000_000n + 123_456_789n],
    ["2026-01-31T15:04:05.1234567899Z", BigInt(at) * 1_000_000n + 123_456_789n],
    ["1969-12-31T23:59:59.5Z", -500_000_000n],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000_000_000n],
  ] as const)("reads %s", ([text, epochNanos]) => {
    expect(parseTime(text)).toMatchObject({ epochNanos });
  });

  test.for([
    "",
    "now",
    "2026-01-31",
    "2026-02-30T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T15:04:60Z",
    "2026-01-31t15:04:05z",
    "2026-01-31 15:04:05Z",
    "2026-01-31T15:04:05",
    "2026-01-31T15:04:05.Z",
    "2026-01-31T15:04:05+24:00",
    "+12026-01-31T15:04:05Z",
    " 2026-01-31T15:04:05Z",
    `2026-01-31T15:04:05.${"0".repeat(100)}Z`,
  ])("refuses %j", (text) => {
    expect(parseTime(text)).toEqual({ error: expect.stringMatching(/^Cannot read time ".*": want RFC 3339/) });
  });
});

test("compares points in time, not their notation", () => {
  expect(compareTimes("2026-01-31T15:04:05Z", "2026-01-31T16:04:05.000+01:00")).toBe(0);
  expect(compareTimes("2026-01-31T15:04:05Z", "2026-01-31T15:04:05.000000001Z")).toBe(-1);
  expect(compareTimes("2026-01-31T15:04:06Z", "2026-01-31T15:04:05.9Z")).toBe(1);
  expect(compareTimes("soon", "2026-01-31T15:04:05Z")).toBeUndefined();
});

test("formats both resolutions, rounding down", () => {
  expect(formatTime(at + 999)).toBe("2026-01-31T15:04:05Z");
  expect(formatTime(-1)).toBe("1969-12-31T23:59:59Z");
  expect(formatMicroTime(at)).toBe("2026-01-31T15:04:05.000000Z");
  expect(formatMicroTime(at + 7.25)).toBe("2026-01-31T15:04:05.007250Z");
});

test("parseTime reads nanoseconds exactly", () => {
  const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
  const nanos = fc.integer({ min: 0, max: 999_999_999 });
  fc.assert(
    fc.property(seconds, nanos, (second, nano) => {
      const text = `${formatTime(second * 1000).slice(0, -1)}.${String(nano).padStart(9, "0").replace(/0+$/, "") || "0"}Z`;
      expect(parseTime(text)).toMatchObject({ epochNanos: BigInt(second) * 1_000_000_000n + BigInt(nano) });
    }),
  );
});

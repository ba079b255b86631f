import { expect, test } from "vitest";
import { parseDurationMs, parseDurationNanos } from "./duration.ts";

test.for([
  ["0", 0],
  ["0s", 0],
  ["5m", 300_000],
  ["180s", 180_000],
  ["1m30s", 90_000],
  ["1h1m1.5s", 3_661_500],
  [".5s", 500],
  ["1.s", 1000],
  ["+2s", 2000],
  ["-2s", -2000],
  ["250ms", 250],
  ["2us", 0.002],
] as const)("%s is %d ms", ([text, expected]) => {
  expect(parseDurationMs(text)).toBe(expected);
});

test("keeps nanoseconds exactly", () => {
  expect(parseDurationNanos("9223372036.854775807s")).toBe(9_223_372_036_854_775_807n);
  expect(parseDurationNanos("1µs")).toBe(1_000n);
  expect(parseDurationNanos("1μs")).toBe(1_000n);
});

test.for(["", "5", "s", "-", "1.2.3s", "5 m", "1s ", "1d", "1e3s", "٣s", "1s".repeat(21)])("%j is invalid", (text) => {
  expect(parseDurationMs(text)).toBeUndefined();
});

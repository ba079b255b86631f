import { expect, test } from "vitest";
import { requestTimeoutMs } from "./request-timeout.ts";

test.for<[string | undefined, number]>([
  [undefined, 180_000],
  ["20", 20_000],
  ["0.5", 500],
  [".25", 250],
  ["1e1", 10_000],
  ["600", 180_000],
  ["0", 180_000],
  ["-5", 180_000],
  ["NaN", 180_000],
  ["Infinity", 180_000],
  ["1e999", 180_000],
  ["0x10", 180_000],
  ["", 180_000],
  ["ten", 180_000],
  ["5.", 180_000],
  [" 1.5 ", 1500],
])("%j seconds asked gives %d ms", ([asked, expected]) => {
  expect(requestTimeoutMs(asked, 180_000)).toBe(expected);
});

test("parses a very long number in linear time, also if it is not valid", () => {
  expect(requestTimeoutMs(`${"1".repeat(200_000)}x`, 180_000)).toBe(180_000);
});

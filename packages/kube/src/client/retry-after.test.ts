import { expect, test } from "vitest";
import { readRetryAfter } from "./retry-after.ts";

const now = Date.UTC(2026, 0, 1);

test.for<[string | undefined, number | undefined]>([
  [undefined, undefined],
  ["7", 7_000],
  [" 0 ", 0],
  ["Thu, 01 Jan 2026 00:00:05 GMT", 5_000],
  ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
  ["soon", undefined],
  ["99999999999999", undefined],
])("parses Retry-After %j as %j ms", ([header, expected]) => {
  expect(readRetryAfter(header, now)).toBe(expected);
});

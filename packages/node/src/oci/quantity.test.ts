import { expect, test } from "vitest";
import { amountOf } from "./quantity.ts";

test.for([
  ["500m", 0.5],
  ["2", 2],
  ["0.1", 0.1],
  [".5", 0.5],
  ["64Mi", 67_108_864],
  ["1.5Gi", 1_610_612_736],
  ["2k", 2000],
  ["2e3", 2000],
  ["1E", 1e18],
  ["1E2", 100],
  [3, 3],
] as const)("amountOf(%j) is %d", ([text, expected]) => {
  expect(amountOf(text)).toBeCloseTo(expected, 9);
});

test.for(["", "Mi", "1mi", "1 Gi", "0x10", "1Gi; rm -rf /"])("amountOf(%j) is undefined", (text) => {
  expect(amountOf(text)).toBeUndefined();
});

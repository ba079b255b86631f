import { expect, test } from "vitest";
import { readQuantity } from "./format.ts";

test.for([
  ["0", 0],
  ["250m", 0.25],
  ["64Mi", 64 * 2 ** 20],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["123456789n", 0.123_456_789],
  ["1.", 1],
  [".5", 0.5],
  ["1e9", 1e9],
  ["1E3", 1000],
  ["12e-3", 0.012],
  ["2P", 2e15],
  ["1E", 1e18],
  ["1Pi", 2 ** 50],
  ["1Ei", 2 ** 60],
] as const)("reads the quantity %s", ([text, value]) => {
  expect(readQuantity(text)).toBeCloseTo(value, 12);
});

test.for([
  "",
  "Mi",
  "1ki",
  "1mi",
  "1Ki2",
  "1e",
  "1e999",
  "-1",
  "+",
  "1 Mi",
  "0x10",
  ".",
  "1constructor",
  "<b>",
  "\u0661",
])("does not read %j as a quantity", (text) => {
  expect(readQuantity(text)).toBeUndefined();
});

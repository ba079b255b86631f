import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareQuantities, parseQuantity } from "./quantity.ts";

const one = 1_000_000_000n;

describe("parseQuantity()", () => {
  test.for([
    ["0", 0n],
    ["1", one],
    ["+1", one],
    ["-1", -one],
    ["1.5", (3n * one) / 2n],
    [".5", one / 2n],
    ["5.", 5n * one],
    ["100m", one / 10n],
    ["1u", 1000n],
    ["1n", 1n],
    ["1k", 1000n * one],
    ["1M", 10n ** 6n * one],
    ["1G", 10n ** 9n * one],
    ["1T", 10n ** 12n * one],
    ["1P", 10n ** 15n * one],
    ["1E", 10n ** 18n * one],
    ["1Ki", 1024n * one],
    ["1Mi", 2n ** 20n * one],
    ["1.5Gi", 3n * 2n ** 29n * one],
    ["1Ti", 2n ** 40n * one],
    ["1Pi", 2n ** 50n * one],
    ["1Ei", 2n ** 60n * one],
    ["1e3", 1000n * one],
    ["1E3", 1000n * one],
    ["1E+3", 1000n * one],
    ["25e-1", (5n * one) / 2n],
    ["0.1n", 1n],
    ["-0.1n", -1n],
    ["1e-64", 1n],
    ["9223372036854775807", (2n ** 63n - 1n) * one],
  ] as const)("reads %s", ([text, nanos]) => {
    expect(parseQuantity(text)).toEqual({ nanos });
  });

  test.for([
    "",
    ".",
    "-",
    "Ki",
    "1K",
    "1ki",
    "1 Gi",
    "1Gi ",
    "1GiB",
    "1e",
    "1e3.5",
    "1e3Ki",
    "0x10",
    "1e65",
    "1e999999999",
    "NaN",
    "1,5",
    "１",
    "9".repeat(65),
  ])("refuses %j", (text) => {
    expect(parseQuantity(text)).toEqual({ error: expect.stringMatching(/^Cannot read quantity ".*": want a number/) });
  });
});

test("compares amounts, not their notation", () => {
  expect(compareQuantities("1000m", "1")).toBe(0);
  expect(compareQuantities("1Gi", "1024Mi")).toBe(0);
  expect(compareQuantities("1G", "1Gi")).toBe(-1);
  expect(compareQuantities("0.1", "99m")).toBe(1);
  expect(compareQuantities("lots", "1")).toBeUndefined();
});

test("is exact where floating point is not", () => {
  const amounts = fc.tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.bigInt(-(10n ** 20n), 10n ** 20n));
  fc.assert(
    fc.property(amounts, ([a, b]) => {
      const expected = a === b ? 0 : a < b ? -1 : 1;
      expect(compareQuantities(`${a}m`, `${b}m`)).toBe(expected);
      expect(parseQuantity(`${a}u`)).toEqual(parseQuantity(`${a * 1000n}n`));
    }),
  );
});

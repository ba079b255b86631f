import * as fc from "fast-check";
import { expect, test } from "vitest";
import { includes, type Range, union, without } from "./ranges.ts";

const range = fc.tuple(fc.nat(40), fc.nat(10)).map(([from, length]): Range => ({ from, to: from + length }));
const numbers = Array.from({ length: 60 }, (_, at) => at);
const inAny = (ranges: readonly Range[], value: number): boolean =>
  ranges.some(({ from, to }) => value >= from && value <= to);

test("a union has the same numbers, sorted and with gaps between its ranges", () => {
  fc.assert(
    fc.property(fc.array(range), (ranges) => {
      const merged = union(ranges);
      for (const value of numbers) expect(includes(merged, value)).toBe(inAny(ranges, value));
      for (const [at, { from }] of merged.entries())
        expect(at === 0 || from > (merged[at - 1]?.to ?? 0) + 1).toBe(true);
    }),
  );
});

test("without() leaves the numbers that are in no hole", () => {
  fc.assert(
    fc.property(range, fc.array(range), (whole, holes) => {
      const left = without(whole, holes);
      for (const value of numbers) expect(includes(left, value)).toBe(inAny([whole], value) && !inAny(holes, value));
    }),
  );
});

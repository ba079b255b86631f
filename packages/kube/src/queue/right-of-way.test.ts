import { describe, expect, test } from "vitest";
import { RightOfWay } from "./right-of-way.ts";

describe("RightOfWay", () => {
  test.for([
    ["all workers when nothing has priority", 0, 100, 100],
    ["half of them beside one key", 1, 100, 50],
    ["fewer workers the more keys there are", 24, 100, 4],
    ["at least two workers", 10_000, 100, 2],
    ["no more workers than there are", 10_000, 1, 1],
  ] as const)("leaves %s (COST-13)", ([, keys, workers, left]) => {
    const way = new RightOfWay();
    way.tell(keys);
    expect(way.limit(workers)).toBe(left);
  });

  test("calls listeners only when nothing has priority any more (COST-13)", () => {
    const way = new RightOfWay();
    const free: number[] = [];
    const tell = (...keys: number[]): void => keys.forEach((count) => way.tell(count));
    {
      using _ = way.onFree(() => free.push(way.limit(8)));
      tell(0, 3, 1, 0, 0, 2);
    }
    tell(0);
    expect(free).toEqual([8]);
  });
});

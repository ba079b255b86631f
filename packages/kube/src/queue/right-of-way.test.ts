import { describe, expect, test } from "vitest";
import { RightOfWay } from "./right-of-way.ts";

describe("RightOfWay", () => {
  test.for([
    ["all of them when nobody goes first", 0, 100, 100],
    ["half beside one key", 1, 100, 50],
    ["less the more there is", 24, 100, 4],
    ["never none, or what gives way would stand still", 10_000, 100, 2],
    ["never more than there are", 10_000, 1, 1],
  ] as const)("leaves %s", ([, keys, workers, left]) => {
    const way = new RightOfWay();
    way.tell(keys);
    expect(way.limit(workers)).toBe(left);
  });

  test("says when nothing goes first any more, and only then", () => {
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

import { describe, expect, test } from "vitest";
import { ControllerPriority } from "./controller-priority.ts";

describe("ControllerPriority", () => {
  test.for([
    ["all workers when nothing has priority", 0, 100, 100],
    ["half of them beside one key", 1, 100, 50],
    ["fewer workers the more keys there are", 24, 100, 4],
    ["at least two workers", 10_000, 100, 2],
    ["no more workers than there are", 10_000, 1, 1],
  ] as const)("leaves %s (COST-13)", ([, keys, workers, left]) => {
    const priority = new ControllerPriority();
    priority.reportKeys(keys);
    expect(priority.limit(workers)).toBe(left);
  });

  test("calls listeners only when nothing has priority any more (COST-13)", () => {
    const priority = new ControllerPriority();
    const limits: number[] = [];
    const reportKeys = (...keys: number[]): void => keys.forEach((count) => priority.reportKeys(count));
    {
      using _ = priority.onIdle(() => limits.push(priority.limit(8)));
      reportKeys(0, 3, 1, 0, 0, 2);
    }
    reportKeys(0);
    expect(limits).toEqual([8]);
  });
});

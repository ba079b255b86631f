import { describe, expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
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
      using _ = priority.onRaised(() => limits.push(priority.limit(8)));
      reportKeys(0, 3, 1, 0, 0, 2);
    }
    reportKeys(0);
    expect(limits).toEqual([8]);
  });

  test("leaves no worker during the hold, and some after it (COST-13)", async () => {
    const clock = new VirtualClock();
    const priority = new ControllerPriority({ holdMs: 300, scheduler: clock });
    const raised: number[] = [];
    using _ = priority.onRaised(() => raised.push(clock.now()));
    const from = clock.now();
    priority.reportKeys(20);
    expect(priority.limit(100)).toBe(0);
    await clock.advance(299);
    priority.reportKeys(10);
    expect([priority.limit(100), raised]).toEqual([0, []]);
    await clock.advance(1);
    expect([priority.limit(100), raised]).toEqual([10, [from + 300]]);
    // More keys of the same burst do not begin another hold.
    priority.reportKeys(99);
    expect(priority.limit(100)).toBe(2);
  });

  test("ends the hold as soon as the keys are done, and begins another one with the next (COST-13)", async () => {
    const clock = new VirtualClock();
    const priority = new ControllerPriority({ holdMs: 300, scheduler: clock });
    let raised = 0;
    using _ = priority.onRaised(() => void (raised += 1));
    priority.reportKeys(1);
    await clock.advance(10);
    priority.reportKeys(0);
    expect([priority.limit(100), raised]).toEqual([100, 1]);
    await clock.advance(1_000);
    expect(raised).toBe(1);
    priority.reportKeys(1);
    expect(priority.limit(100)).toBe(0);
    await clock.advance(300);
    expect([priority.limit(100), raised]).toEqual([50, 2]);
  });
});

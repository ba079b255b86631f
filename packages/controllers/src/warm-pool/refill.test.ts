import { describe, expect, test } from "vitest";
import { grantRefill, type RefillLimits, type RefillMemory } from "./refill.ts";

const second = 1_000;

/** Walks a pool through passes; each takes what it is granted. */
function walk(limits: Partial<RefillLimits>, desired: number) {
  let memory: RefillMemory = {};
  return (at: number, count: number) => {
    const wish = { count, desired, want: desired - count, now: at };
    const grant = grantRefill(memory, { replenishDelayMs: 0, refillPauseMs: 0, maxPerSecond: 0, ...limits }, wish);
    memory = grant.memory;
    return { granted: grant.granted, nextAt: grant.nextAt };
  };
}

describe("grantRefill()", () => {
  test("waits for the delay after members left, again after more left, then grants all at once (POOL-42)", () => {
    const pass = walk({ replenishDelayMs: 5 * second }, 5);
    expect(pass(0, 5)).toEqual({ granted: 0, nextAt: undefined });
    expect(pass(1 * second, 3)).toEqual({ granted: 0, nextAt: 6 * second });
    expect(pass(2 * second, 3)).toEqual({ granted: 0, nextAt: 6 * second });
    expect(pass(4 * second, 2)).toEqual({ granted: 0, nextAt: 9 * second });
    expect(pass(9 * second, 2)).toEqual({ granted: 3, nextAt: undefined });
    expect(pass(10 * second, 5)).toEqual({ granted: 0, nextAt: undefined });
  });

  test("waits for the pause after the first member left, however many leave after it (POOL-53)", () => {
    const pass = walk({ refillPauseMs: 100 }, 5);
    expect(pass(0, 5)).toEqual({ granted: 0, nextAt: undefined });
    expect(pass(1_000, 4)).toEqual({ granted: 0, nextAt: 1_100 });
    expect(pass(1_050, 2)).toEqual({ granted: 0, nextAt: 1_100 });
    expect(pass(1_100, 1)).toEqual({ granted: 4, nextAt: undefined });
    expect(pass(1_110, 4)).toEqual({ granted: 0, nextAt: 1_210 });
    // The clock was set back.
    expect(pass(500, 4)).toEqual({ granted: 0, nextAt: 600 });
    expect(pass(600, 4)).toEqual({ granted: 1, nextAt: undefined });
  });

  test("grants all creates for a pool it sees for the first time (POOL-43)", () => {
    expect(walk({ replenishDelayMs: 5 * second }, 5)(0, 2)).toEqual({ granted: 3, nextAt: undefined });
  });

  test("limits 5 creates to 2 per second, and requeues for the next (POOL-44)", () => {
    const pass = walk({ maxPerSecond: 2 }, 5);
    expect(pass(0, 0)).toEqual({ granted: 2, nextAt: 500 });
    expect(pass(0, 2)).toEqual({ granted: 0, nextAt: 500 });
    expect(pass(500, 2)).toEqual({ granted: 1, nextAt: 1_000 });
    expect(pass(1_500, 3)).toEqual({ granted: 2, nextAt: undefined });
  });

  test("grants one create every two seconds at a rate of 0.5, and all at a huge rate (POOL-44)", () => {
    const slow = walk({ maxPerSecond: 0.5 }, 3);
    expect(slow(0, 0)).toEqual({ granted: 1, nextAt: 2 * second });
    expect(slow(1 * second, 1)).toEqual({ granted: 0, nextAt: 2 * second });
    expect(slow(2 * second, 1)).toEqual({ granted: 1, nextAt: 4 * second });
    expect(walk({ maxPerSecond: 1e18 }, 300)(0, 0)).toEqual({ granted: 300, nextAt: undefined });
  });

  test("never saves up more creates than its capacity (POOL-45)", () => {
    const pass = walk({ maxPerSecond: 2 }, 10);
    expect(pass(0, 9)).toEqual({ granted: 1, nextAt: undefined });
    expect(pass(3_600 * second, 5).granted).toBe(2);
  });

  test("neither extends the delay nor loses creates when the clock jumps back (POOL-52)", () => {
    const held = walk({ replenishDelayMs: 5 * second }, 5);
    held(3_600 * second, 5);
    expect(held(3_601 * second, 3)).toEqual({ granted: 0, nextAt: 3_606 * second });
    expect(held(0, 3)).toEqual({ granted: 0, nextAt: 5 * second });
    const paced = walk({ maxPerSecond: 2 }, 5);
    paced(3_600 * second, 0);
    expect(paced(0, 2)).toEqual({ granted: 0, nextAt: 500 });
    expect(paced(1 * second, 2)).toEqual({ granted: 2, nextAt: 1_500 });
  });

  test("applies the delay first and the rate afterwards (POOL-46)", () => {
    const pass = walk({ replenishDelayMs: 5 * second, maxPerSecond: 2 }, 5);
    pass(0, 5);
    expect(pass(1 * second, 1)).toEqual({ granted: 0, nextAt: 6 * second });
    expect(pass(6 * second, 1)).toEqual({ granted: 2, nextAt: 6_500 });
    expect(pass(6_500, 3)).toEqual({ granted: 1, nextAt: 7 * second });
  });
});

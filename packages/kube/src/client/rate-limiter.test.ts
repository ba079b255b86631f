import { describe, expect, test } from "vitest";
import type { Clock } from "../clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** A clock that advances only when `pass` is called. */
function handClock(): Clock & { pass(ms: number): Promise<void> } {
  let now = 0;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.add({ at: now + ms, wake })),
    async pass(ms) {
      now += ms;
      for (const sleeper of sleepers) {
        if (sleeper.at > now + 1e-6) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe("RateLimiter", () => {
  test("allows a burst at once and the rest at the rate, in order", async () => {
    const clock = handClock();
    const limiter = new RateLimiter({ qps: 10, burst: 2 }, clock);
    const gone: number[] = [];
    for (let caller = 0; caller < 5; caller += 1) void limiter.take().then(() => gone.push(caller));
    await clock.pass(0);
    expect(gone).toEqual([0, 1]);
    await clock.pass(100);
    expect(gone).toEqual([0, 1, 2]);
    await clock.pass(100);
    await clock.pass(100);
    expect(gone).toEqual([0, 1, 2, 3, 4]);
  });

  test("gives the turn of a cancelled request to the next", async () => {
    const clock = handClock();
    const limiter = new RateLimiter({ qps: 1, burst: 1 }, clock);
    await limiter.take();
    const abort = new AbortController();
    const left = limiter.take(abort.signal);
    const stayed = limiter.take();
    abort.abort();
    await expect(left).rejects.toMatchObject({ reason: "Unreachable" });
    await clock.pass(1000);
    await stayed;
  });

  test("does not save up more than the burst", async () => {
    const clock = handClock();
    const limiter = new RateLimiter({ qps: 100, burst: 2 }, clock);
    await clock.pass(3_600_000);
    let gone = 0;
    for (let caller = 0; caller < 4; caller += 1) void limiter.take().then(() => (gone += 1));
    await clock.pass(0);
    expect(gone).toBe(2);
  });

  test("rejects a limit of zero", () => {
    expect(() => new RateLimiter({ qps: 0, burst: 1 }, handClock())).toThrow(/too small/);
    expect(() => new RateLimiter({ qps: 1, burst: 0 }, handClock())).toThrow(/too small/);
  });
});

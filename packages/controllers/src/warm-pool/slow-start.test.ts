import { describe, expect, test } from "vitest";
import { slowStart } from "./slow-start.ts";

describe("slowStart()", () => {
  test("stops after the batch with the first failure: 7 of 14 calls, 6 of them successful (POOL-23)", async () => {
    const calls: number[] = [];
    const result = await slowStart(14, async (index) => {
      calls.push(index);
      if (index === 5) throw new Error("quota");
    });
    expect([calls, result]).toEqual([[0, 1, 2, 3, 4, 5, 6], { succeeded: 6, error: new Error("quota") }]);
  });

  test("stops after the second batch when it is cancelled during it (POOL-23)", async () => {
    const stop = new AbortController();
    const start = async (index: number): Promise<void> => void (index === 1 && stop.abort(new Error("stop")));
    expect(await slowStart(14, start, { signal: stop.signal })).toEqual({ succeeded: 3, error: new Error("stop") });
  });

  test("never has more than 64 calls in flight (POOL-23)", async () => {
    let running = 0;
    let most = 0;
    const { succeeded } = await slowStart(300, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
    });
    expect([succeeded, most]).toEqual([300, 64]);
  });

  test("limits each batch to what the caller allows, but to at least one (POOL-23)", async () => {
    const allowed = [3, 0, 100];
    const batches: number[][] = [];
    let batch: number[] = [];
    const start = (index: number): Promise<void> => {
      if (batch.length === 0) queueMicrotask(() => void batches.push(batch.splice(0)));
      batch.push(index);
      return Promise.resolve();
    };
    await slowStart(9, start, { atOnce: () => allowed.shift() ?? 1 });
    batch = [];
    expect(batches.map(({ length }) => length)).toEqual([1, 2, 1, 2, 1, 1, 1]);
  });
});

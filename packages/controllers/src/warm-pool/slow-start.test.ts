import { describe, expect, test } from "vitest";
import { slowStart } from "./slow-start.ts";

describe("slowStart()", () => {
  test("9.8 #116 of 14 with a failure at index 5 makes 7 calls, 6 of which succeed", async () => {
    const calls: number[] = [];
    const result = await slowStart(14, async (index) => {
      calls.push(index);
      if (index === 5) throw new Error("quota");
    });
    expect([calls, result]).toEqual([[0, 1, 2, 3, 4, 5, 6], { succeeded: 6, error: new Error("quota") }]);
  });

  test("9.8 #116 cancelled during the second batch ends with 3 successes", async () => {
    const stop = new AbortController();
    const start = async (index: number): Promise<void> => void (index === 1 && stop.abort(new Error("stop")));
    expect(await slowStart(14, start, stop.signal)).toEqual({ succeeded: 3, error: new Error("stop") });
  });

  test("never has more than 64 calls under way", async () => {
    let running = 0;
    let most = 0;
    const { succeeded } = await slowStart(300, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
    });
    expect([succeeded, most]).toEqual([300, 64]);
  });
});

import { expect, test } from "vitest";
import { type Backoff, kubeletBackoff, nextBackoff, retryDelayMs } from "./backoff.ts";

test("the first restart follows at once, then the wait doubles up to five minutes", () => {
  const delays: number[] = [];
  let backoff: Backoff | undefined;
  let now = 0;
  for (let crash = 0; crash < 8; crash++) {
    backoff = nextBackoff(backoff, now, kubeletBackoff);
    delays.push(backoff.delayMs / 1000);
    now += backoff.delayMs + 1000;
  }
  expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test.for([
  ["a run of just under ten minutes counts on", 600_000, 80_000],
  ["a longer one counts as the first", 600_001, 0],
] as const)("%s", ([, later, delayMs]) => {
  expect(nextBackoff({ delayMs: 40_000, since: 5 }, 5 + later, kubeletBackoff)).toEqual({ delayMs, since: 5 + later });
});

test("a start that failed is tried again after a second, then ever later, up to five minutes", () => {
  expect([1, 2, 3, 9, 10, 1000].map((tries) => retryDelayMs(tries, kubeletBackoff) / 1000)).toEqual([
    1, 2, 4, 256, 300, 300,
  ]);
});

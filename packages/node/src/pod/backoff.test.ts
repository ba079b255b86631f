import { expect, test } from "vitest";
import { type Backoff, kubeletBackoff, nextBackoff, retryDelayMs } from "./backoff.ts";

test("the first restart is immediate, then the delay doubles up to five minutes", () => {
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
  ["the delay grows after a run of up to ten minutes", 600_000, 80_000],
  ["the delay is reset after a longer run", 600_001, 0],
] as const)("%s", ([, later, delayMs]) => {
  expect(nextBackoff({ delayMs: 40_000, since: 5 }, 5 + later, kubeletBackoff)).toEqual({ delayMs, since: 5 + later });
});

test.for([
  ["ErrImagePull", [1, 2, 4, 256, 300, 300]],
  ["CreateContainerConfigError", [1, 2, 4, 20, 20, 20]],
] as const)("a start that failed with %s is tried again ever later, up to a bound", ([reason, seconds]) => {
  const tries = [1, 2, 3, 9, 10, 1000];
  expect(tries.map((count) => retryDelayMs({ tries: count, reason }, kubeletBackoff) / 1000)).toEqual(seconds);
});

import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";

/** Time as the machinery sees it: monotonic, so that a jump of the machine's clock moves no timer. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number;
  /** Resolves after `ms`, or as soon as `signal` aborts: the caller looks at the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : {}).catch(() => undefined),
};

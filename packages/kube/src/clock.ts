import { setTimeout as delay } from "node:timers/promises";

/** A monotonic clock: a jump of the machine's wall clock does not affect timers. */
export interface Clock {
  /** Milliseconds since an arbitrary fixed time. */
  now(): number;
  /** Resolves after `ms`, or when `signal` aborts. It does not reject: the caller checks the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : {}).catch(() => undefined),
};

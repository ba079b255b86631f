import { type Clock, systemClock } from "../clock.ts";

/** A clock with wall time and timers. Wall time can jump, so it is only for values that people and other machines read. */
export interface Scheduler extends Clock {
  /** Milliseconds since 1970. */
  date(): number;
  /** Calls the callback once after the delay, unless disposed first. */
  schedule(delayMs: number, callback: () => void): Disposable;
  /** Resolves after the events that are already queued in the process were handled. Absent if there can be none. */
  turn?(): Promise<void>;
}

/** Node stores a timer's delay in 32 signed bits; a longer delay would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemScheduler: Scheduler = {
  ...systemClock,
  date: () => Date.now(),
  schedule: scheduleTimer,
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

function scheduleTimer(delayMs: number, callback: () => void): Disposable {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, longestTimerMs);
    timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : callback()), stepMs);
  };
  arm(Math.max(0, delayMs));
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

import { type Clock, systemClock } from "../clock.ts";

/** A clock that also tells the date and calls back. The date can jump: it is only for what people and other machines read. */
export interface Scheduler extends Clock {
  /** Milliseconds since 1970. */
  date(): number;
  /** Calls back once, not before the delay has passed, unless disposed first. */
  schedule(delayMs: number, callback: () => void): Disposable;
  /** Settles when what has arrived in the process by now has been dealt with. Absent: nothing else is under way. */
  turn?(): Promise<void>;
}

/** Node holds a timer's delay in 32 signed bits; a longer one would fire at once. */
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

import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";

export interface RateLimit {
  /** Requests per second in the long run. */
  readonly qps: number;
  /** Requests that may go at once after a quiet time. */
  readonly burst: number;
}

/** Beyond this many the process makes requests faster than it may send them for minutes: failing is kinder. */
const longestQueue = 10_000;

/** A token bucket. Callers go in the order they came; one that gives up takes no token with it. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #tokens: number;
  #filledAt: number;

  constructor(limit: RateLimit, clock: Clock) {
    if (!(limit.qps > 0) || !(limit.burst >= 1)) {
      throw new RangeError(`Cannot limit requests to ${limit.qps}/s with bursts of ${limit.burst}: too small`);
    }
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#filledAt = clock.now();
  }

  /** Resolves when a request may go. Rejects with `Unreachable` when `signal` aborts first. */
  async take(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw givenUp(signal);
    if (this.#waiting.size === 0 && this.#takeToken()) return;
    if (this.#waiting.size >= longestQueue) {
      throw new KubeError("Unreachable", `Cannot queue the request: ${longestQueue} wait for the client's rate limit`);
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(go);
        reject(givenUp(signal));
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.add(go);
      if (this.#waiting.size === 1) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    while (this.#waiting.size > 0) {
      if (this.#takeToken()) {
        const [first] = this.#waiting;
        if (first) this.#waiting.delete(first);
        first?.();
      } else {
        await this.#clock.sleep(((1 - this.#tokens) / this.#limit.qps) * 1000);
      }
    }
  }

  #takeToken(): boolean {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#limit.burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#limit.qps);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

function givenUp(signal: AbortSignal | undefined): KubeError {
  return new KubeError("Unreachable", "Cannot send the request: the caller gave up", { cause: signal?.reason });
}

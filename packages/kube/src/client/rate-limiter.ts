import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";

export interface RateLimit {
  /** Average requests per second. */
  readonly qps: number;
  /** Requests that may be sent at once after a pause. */
  readonly burst: number;
}

/** Requests fail beyond this queue length: they would wait for minutes. */
const longestQueue = 10_000;

/** A token bucket with a FIFO queue. A cancelled request uses no token. */
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

  /** Resolves when a request may be sent. Rejects with `Unreachable` when `signal` aborts first. */
  async take(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw cancelled(signal);
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
        reject(cancelled(signal));
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

function cancelled(signal: AbortSignal | undefined): KubeError {
  return new KubeError("Unreachable", "Cannot send the request: the request was cancelled", { cause: signal?.reason });
}

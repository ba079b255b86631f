import { Heap, type HeapItem } from "../queue/heap.ts";
import type { Scheduler } from "../queue/scheduler.ts";

interface Timer extends HeapItem {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that tests advance. Between two timers all pending promises are settled, so that tests with `await` are
 * deterministic.
 */
export class VirtualClock implements Scheduler {
  readonly #timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #epochMs: number;
  #elapsedMs = 0;
  #order = 0;

  constructor(epochMs: number = Date.UTC(2026, 0, 1)) {
    this.#epochMs = epochMs;
  }

  now(): number {
    return this.#elapsedMs;
  }

  date(): number {
    return this.#epochMs + this.#elapsedMs;
  }

  /** The number of pending timers. */
  get pending(): number {
    return this.#timers.size;
  }

  schedule(delayMs: number, callback: () => void): Disposable {
    this.#order += 1;
    const timer: Timer = { at: this.#elapsedMs + Math.max(0, delayMs), order: this.#order, callback, position: -1 };
    this.#timers.push(timer);
    return { [Symbol.dispose]: () => this.#timers.remove(timer) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = this.schedule(ms, wake);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Fires the timers of the next `ms` in order and ends at exactly that time. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms;
    await settle();
    for (let timer = this.#timers.first(); timer !== undefined && timer.at <= end; timer = this.#timers.first()) {
      await this.#fire(timer);
    }
    this.#elapsedMs = end;
    await settle();
  }

  /** Jumps without firing timers, like a process that was paused and continued. */
  skip(ms: number): void {
    this.#elapsedMs += ms;
  }

  /** Advances until the condition holds. Throws after `withinMs` of virtual time or when no timer is left. */
  async runUntil(condition: () => boolean, { withinMs = 3_600_000 }: { withinMs?: number } = {}): Promise<void> {
    const end = this.#elapsedMs + withinMs;
    await settle();
    while (!condition()) {
      const timer = this.#timers.first();
      if (timer === undefined) throw new Error("Cannot reach the condition: no timer is left");
      if (timer.at > end) throw new Error(`Cannot reach the condition: not within ${withinMs} ms`);
      await this.#fire(timer);
    }
  }

  async #fire(timer: Timer): Promise<void> {
    this.#timers.remove(timer);
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.at);
    timer.callback();
    await settle();
  }
}

/** Resolves after the microtask queue is empty, when all pending promises have settled. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

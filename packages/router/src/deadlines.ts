/** Something with a deadline that moves. */
export interface Timed {
  /** As `Deadlines.after` tells it. */
  readonly deadlineMs: number;
  /** Told at every look after the deadline until it has moved or is forgotten. */
  onDeadline(): void;
}

/**
 * Many deadlines, looked at together every `stepMs`: to move one is to write a field. They are kept late by two steps at
 * most and never early, and the process may end while there are some.
 */
export class Deadlines implements Disposable {
  readonly #stepMs: number;
  readonly #watched = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  /** As of the last look: reading the clock for each request would cost more than it is worth. */
  #nowMs = performance.now();

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** The deadline of what may take so long from now on. */
  after(delayMs: number): number {
    if (this.#timer === undefined) this.#nowMs = performance.now();
    return this.#nowMs + delayMs + this.#stepMs;
  }

  watch(timed: Timed): void {
    this.#watched.add(timed);
    this.#timer ??= setInterval(() => this.#look(), this.#stepMs).unref();
  }

  forget(timed: Timed): void {
    this.#watched.delete(timed);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  #look(): void {
    this.#nowMs = performance.now();
    for (const timed of this.#watched) if (timed.deadlineMs <= this.#nowMs) timed.onDeadline();
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

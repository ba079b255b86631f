/** Something with a deadline that may be changed at any time. */
export interface Timed {
  /** From `Deadlines.after`. */
  readonly deadlineMs: number;
  /** Called on every check after the deadline, until that is changed or forgotten. */
  onDeadline(): void;
}

/**
 * Checks many deadlines together every `stepMs`, so that changing one only writes a field. They fire at most two steps late
 * and never early. The timer does not keep the process alive.
 */
export class Deadlines implements Disposable {
  readonly #stepMs: number;
  readonly #watched = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  /** The time of the last check. Reading the clock for each request would be too slow. */
  #nowMs = performance.now();

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** The deadline for something that may take `delayMs` from now on. */
  after(delayMs: number): number {
    if (this.#timer === undefined) this.#nowMs = performance.now();
    return this.#nowMs + delayMs + this.#stepMs;
  }

  watch(timed: Timed): void {
    this.#watched.add(timed);
    this.#timer ??= setInterval(() => this.#check(), this.#stepMs).unref();
  }

  forget(timed: Timed): void {
    this.#watched.delete(timed);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  #check(): void {
    this.#nowMs = performance.now();
    for (const timed of this.#watched) if (timed.deadlineMs <= this.#nowMs) timed.onDeadline();
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

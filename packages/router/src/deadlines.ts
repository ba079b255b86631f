/** Something with a deadline that moves. */
export interface Timed {
  /** By `performance.now()`. */
  readonly deadlineMs: number;
  /** Told at every look after the deadline until it has moved or is forgotten. */
  onDeadline(): void;
}

/**
 * Many deadlines, looked at together every `stepMs`: to move one is to write a field. They are kept late by one step at
 * most, and the process may end while there are some.
 */
export class Deadlines implements Disposable {
  readonly #stepMs: number;
  readonly #watched = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  watch(timed: Timed): void {
    this.#watched.add(timed);
    this.#timer ??= setInterval(() => this.#look(performance.now()), this.#stepMs).unref();
  }

  forget(timed: Timed): void {
    this.#watched.delete(timed);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  #look(nowMs: number): void {
    for (const timed of this.#watched) if (timed.deadlineMs <= nowMs) timed.onDeadline();
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

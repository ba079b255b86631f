/**
 * Reads something again and again while the page is visible, for a limited number of times: a call to a sandbox counts as use of it, so a
 * page that stays open must not keep it awake for ever.
 */
export interface Polled<T> {
  /** The last value; undefined until the first read has succeeded. */
  readonly value: T | undefined;
  /** Why the last read failed. */
  readonly error: unknown;
  /** It has read as often as it may. `refresh` goes on. */
  readonly isPaused: boolean;
}

export interface PollerOptions {
  readonly everyMs: number;
  readonly mostReads: number;
  /** Default: whether the page is hidden. */
  readonly isHidden?: () => boolean;
}

export class Poller<T> {
  readonly #read: (signal: AbortSignal) => Promise<T>;
  readonly #options: PollerOptions;
  readonly #listeners = new Set<() => void>();
  #snapshot: Polled<T> = { value: undefined, error: undefined, isPaused: false };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = new AbortController();
  #reads = 0;
  #isReading = false;
  /** A refresh was asked for during a read, which may have seen the time before it. */
  #isLate = false;

  constructor(read: (signal: AbortSignal) => Promise<T>, options: PollerOptions) {
    [this.#read, this.#options] = [read, options];
  }

  /** Returns a function that stops it, and ends a read that is under way. */
  start(): () => void {
    this.#stopped = new AbortController();
    this.refresh();
    return () => {
      clearTimeout(this.#timer);
      this.#stopped.abort(new Error("The view was left"));
    };
  }

  /** Reads now, and counts the reads from zero. */
  readonly refresh = (): void => {
    this.#reads = 0;
    clearTimeout(this.#timer);
    this.#isLate = this.#isReading;
    void this.#poll();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): Polled<T> => this.#snapshot;

  async #poll(): Promise<void> {
    const { signal } = this.#stopped;
    if (this.#isReading || signal.aborted) return;
    const { isHidden = isPageHidden, everyMs, mostReads } = this.#options;
    if (this.#reads === 0 || !isHidden()) {
      this.#isReading = true;
      this.#reads += 1;
      const isPaused = this.#reads >= mostReads;
      const next = await this.#read(signal).then(
        (value): Polled<T> => ({ value, error: undefined, isPaused }),
        (error: unknown): Polled<T> => ({ value: this.#snapshot.value, error, isPaused }),
      );
      this.#isReading = false;
      if (signal.aborted) return;
      this.#snapshot = next;
      for (const listener of this.#listeners) listener();
    }
    const waitMs = this.#isLate ? 0 : everyMs;
    this.#isLate = false;
    if (this.#reads < mostReads) this.#timer = setTimeout(() => void this.#poll(), waitMs);
  }
}

function isPageHidden(): boolean {
  return document.visibilityState === "hidden";
}

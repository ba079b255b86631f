/** One or more occurrences of the same event for the same object. */
export interface Series<T> {
  readonly id: string;
  readonly first: T;
  count: number;
  lastAt: number;
}

export interface EventSeriesOptions {
  /** Occurrences further apart than this are separate events. Default 6 min, as in Kubernetes' own components. */
  readonly windowMs?: number;
  /** How many different events an object may have at once; then one more per `refillMs`. Default 25. */
  readonly burst?: number;
  /** Default 5 min. */
  readonly refillMs?: number;
  /** How many series are kept; the least recently used is dropped. Default 1000. */
  readonly mostSeries?: number;
}

interface Allowance {
  readonly left: number;
  readonly at: number;
}

/** Groups repeated events and limits the number of different events per object. Times are monotonic. */
export class EventSeries<T> {
  readonly #options: Required<EventSeriesOptions>;
  /** Both in the order of last use. */
  readonly #series = new Map<string, Series<T>>();
  readonly #allowances = new Map<string, Allowance>();

  constructor({ windowMs = 360_000, burst = 25, refillMs = 300_000, mostSeries = 1_000 }: EventSeriesOptions = {}) {
    this.#options = { windowMs, burst, refillMs, mostSeries };
  }

  get(id: string): Series<T> | undefined {
    return this.#series.get(id);
  }

  values(): IterableIterator<Series<T>> {
    return this.#series.values();
  }

  /** The series of this occurrence; undefined if the object exceeds its limit. */
  add(
    occurrence: { readonly subject: string; readonly kind: string; readonly make: () => T },
    now: number,
  ): Series<T> | undefined {
    const id = `${occurrence.subject} ${occurrence.kind}`;
    const running = this.#series.get(id);
    if (running !== undefined && now - running.lastAt <= this.#options.windowMs) {
      running.count += 1;
      running.lastAt = now;
      touch(this.#series, id, running);
      return running;
    }
    if (!this.#allow(occurrence.subject, now)) return undefined;
    const series = { id, first: occurrence.make(), count: 1, lastAt: now };
    touch(this.#series, id, series);
    return series;
  }

  /** Removes and returns the oldest series if there are too many. */
  evict(): Series<T> | undefined {
    return this.#series.size > this.#options.mostSeries ? takeFirst(this.#series) : undefined;
  }

  forget(id: string): void {
    this.#series.delete(id);
  }

  #allow(subject: string, now: number): boolean {
    const { burst, refillMs, mostSeries } = this.#options;
    const { left, at } = this.#allowances.get(subject) ?? { left: burst, at: now };
    const refilled = Math.min(burst, left + (now - at) / refillMs);
    const isAllowed = refilled >= 1;
    touch(this.#allowances, subject, { left: isAllowed ? refilled - 1 : refilled, at: now });
    if (this.#allowances.size > mostSeries) takeFirst(this.#allowances);
    return isAllowed;
  }
}

function touch<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

function takeFirst<V>(map: Map<string, V>): V | undefined {
  const first = map.entries().next().value;
  if (first !== undefined) map.delete(first[0]);
  return first?.[1];
}

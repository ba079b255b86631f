import { KeyCounts } from "@agent-sandbox/kube";

export interface SlotBounds {
  readonly total: number;
  readonly namespace: number;
  readonly pod: number;
}

/**
 * Slots of a shared resource. A Pod and a namespace have limits. A namespace without a slot always gets one, even when all are
 * in use, so that nobody can lock others out.
 */
export class PodSlots {
  readonly #bounds: SlotBounds;
  readonly #byNamespace = new KeyCounts();
  readonly #byPod = new KeyCounts();

  constructor(bounds: SlotBounds) {
    this.#bounds = bounds;
  }

  /** Takes a slot and returns a function that releases it, or `undefined` if this Pod cannot have one. */
  take(namespace: string, pod: string): (() => void) | undefined {
    const own = this.#byNamespace.of(namespace);
    const { total, namespace: most, pod: mostOfPod } = this.#bounds;
    const isFirst = own === 0;
    const isFull = this.#byNamespace.total >= total || own >= most || this.#byPod.of(pod) >= mostOfPod;
    if (isFull && !isFirst) return undefined;
    this.#count(namespace, pod, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#count(namespace, pod, -1);
      isTaken = false;
    };
  }

  #count(namespace: string, pod: string, by: 1 | -1): void {
    this.#byNamespace.add(namespace, by);
    this.#byPod.add(pod, by);
  }
}

/** A rate limit for each namespace, with a burst of two seconds. */
export class Rate {
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  allows(namespace: string): boolean {
    const now = this.#now();
    const burst = 2 * this.#perSecond;
    const { tokens, at } = this.#buckets.get(namespace) ?? { tokens: burst, at: now };
    const left = Math.min(burst, tokens + ((now - at) / 1000) * this.#perSecond) - 1;
    if (this.#buckets.size >= mostBuckets && !this.#buckets.has(namespace)) this.#buckets.clear();
    this.#buckets.set(namespace, { tokens: Math.max(0, left), at: now });
    return left >= 0;
  }
}

/** Far more than the number of namespaces with Pods. */
const mostBuckets = 10_000;

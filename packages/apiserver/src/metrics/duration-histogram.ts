import type { Exposition } from "@agent-sandbox/api";

/**
 * Upper bounds in seconds: those of kube-apiserver that its dashboards and alerts use, and finer ones below, because nearly
 * all responses from memory are that fast.
 */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 5, 10, 30, 60] as const;

/** A histogram of durations with fixed buckets. */
export class DurationHistogram {
  /** Counts for each bucket, not cumulative. The last one has no upper bound. */
  readonly #buckets = new Float64Array(bounds.length + 1);
  #seconds = 0;

  observe(seconds: number): void {
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at += 1;
    this.#buckets[at] = (this.#buckets[at] as number) + 1;
    this.#seconds += seconds;
  }

  /** Writes nothing when nothing was observed. */
  write(to: Exposition, name: string, labels: string): void {
    const count = this.#buckets.reduce((sum, each) => sum + each, 0);
    if (count === 0) return;
    let below = 0;
    for (const [at, bound] of bounds.entries()) {
      below += this.#buckets[at] as number;
      to.sample(`${name}_bucket`, `${labels},le="${bound}"`, below);
    }
    to.sample(`${name}_bucket`, `${labels},le="+Inf"`, count);
    to.sample(`${name}_sum`, labels, this.#seconds);
    to.sample(`${name}_count`, labels, count);
  }
}

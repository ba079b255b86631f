import type { Store } from "../store/store.ts";

export type WakeReason = "change" | "bookmark" | "deadline" | "aborted";

/** Lets a watch sleep until its resource changes, a timer fires, or it is aborted. */
export class Waker implements Disposable {
  readonly #timers = new Map<WakeReason, NodeJS.Timeout>();
  readonly #undo: (() => void)[] = [];
  #pending = new Set<WakeReason>();
  #wake: (() => void) | undefined;

  constructor(store: Store, resource: string, signals: readonly (AbortSignal | undefined)[]) {
    this.#undo.push(store.subscribe(resource, () => this.#raise("change")));
    for (const signal of signals) {
      if (signal === undefined) continue;
      const abort = (): void => this.#raise("aborted");
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
      this.#undo.push(() => signal.removeEventListener("abort", abort));
    }
  }

  /** Whether the watch was aborted or reached its deadline. */
  get ended(): boolean {
    return this.#pending.has("aborted") || this.#pending.has("deadline");
  }

  /** Wakes the watch for this reason after `ms`. Restarts the timer if it is running. */
  at(reason: "bookmark" | "deadline", ms: number): void {
    clearTimeout(this.#timers.get(reason));
    this.#timers.set(reason, setTimeout(() => this.#raise(reason), ms).unref());
  }

  async wait(): Promise<WakeReason> {
    if (this.#pending.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#pending.has("aborted")) return "aborted";
    if (this.#pending.has("deadline")) return "deadline";
    // Events carry newer revisions than the bookmark would, so a change replaces it.
    const reason = this.#pending.has("change") ? "change" : "bookmark";
    this.#pending = new Set();
    return reason;
  }

  #raise(reason: WakeReason): void {
    this.#pending.add(reason);
    this.#wake?.();
    this.#wake = undefined;
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const undo of this.#undo) undo();
  }
}

import type { Target } from "../../runtime/runtime.ts";

interface Run {
  readonly uid: string;
  readonly id: string;
  readonly context: string;
  readonly interruption: AbortController;
}

/** The code that this process is running for clients, so that another request can interrupt it. Each run has a connection. */
export class RunningCode {
  readonly #runs = new Set<Run>();

  /** Until the returned object is disposed. */
  add(target: Target, id: string, context: string): Disposable & { readonly signal: AbortSignal } {
    const run = { uid: target.uid, id, context, interruption: new AbortController() };
    this.#runs.add(run);
    return { signal: run.interruption.signal, [Symbol.dispose]: () => void this.#runs.delete(run) };
  }

  /** Interrupts the run, or all runs of the context, with that id. Returns whether there was one. */
  interrupt(target: Target, id: string): boolean {
    const found = [...this.#runs].filter((run) => run.uid === target.uid && (run.id === id || run.context === id));
    for (const { interruption } of found) interruption.abort();
    return found.length > 0;
  }
}

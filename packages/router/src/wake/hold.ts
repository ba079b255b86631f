import type { Scheduler } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";

export interface HoldContext {
  readonly directory: Pick<Directory, "watch">;
  readonly scheduler: Scheduler;
  /** How long a request waits for its sandbox to become ready. */
  readonly holdMs: number;
}

/** Either the wait is over, or it goes on; `alsoWatch` is the key of another object whose changes matter from now on. */
export type Check<T> = { readonly result: T } | { readonly alsoWatch: string | undefined };

export interface Hold<T> {
  /** The key of the Sandbox or claim to watch. */
  readonly key: string;
  /** Ends the wait with its reason. */
  readonly signal: AbortSignal;
  /** Called at once and after every change of a watched object or of its Pods. Throws to end the wait. */
  readonly check: () => Check<T>;
  /** The error when the time is over. */
  readonly timedOut: () => Error;
}

/** Waits until `check` has a result. */
export function hold<T>({ directory, scheduler, holdMs }: HoldContext, wait: Hold<T>): Promise<T> {
  const { key, signal, check, timedOut } = wait;
  return new Promise((settle, reject) => {
    using starting = new DisposableStack();
    let other: { readonly key: string | undefined; readonly watch: Disposable | undefined } | undefined;
    const end = (outcome: () => void): void => {
      held.dispose();
      other?.watch?.[Symbol.dispose]();
      outcome();
    };
    const onAbort = (): void => end(() => reject(signal.reason as Error));
    const run = (): void => {
      try {
        const now = check();
        if ("result" in now) return end(() => settle(now.result));
        if (now.alsoWatch === other?.key || now.alsoWatch === key) return;
        other?.watch?.[Symbol.dispose]();
        const watch = now.alsoWatch === undefined ? undefined : directory.watch(now.alsoWatch, run);
        other = { key: now.alsoWatch, watch };
      } catch (error) {
        end(() => reject(error));
      }
    };
    starting.use(directory.watch(key, run));
    starting.use(scheduler.schedule(holdMs, () => end(() => reject(timedOut()))));
    starting.defer(() => signal.removeEventListener("abort", onAbort));
    signal.addEventListener("abort", onAbort, { once: true });
    const held = starting.move();
    if (signal.aborted) onAbort();
    else run();
  });
}

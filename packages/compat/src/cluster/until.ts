import type { Informer } from "@agent-sandbox/kube";

/**
 * Waits until `check` returns something other than undefined. It is called now and after each change of the informers. Rejects when
 * the signal aborts, and with the error that `check` throws.
 */
export function until<T>(informers: readonly Informer[], check: () => T | undefined, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const look = (): void => {
    try {
      const found = check();
      if (found !== undefined) resolve(found);
    } catch (error) {
      reject(error);
    }
  };
  const subscriptions = informers.map((informer) => informer.subscribe(look));
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  else look();
  return promise.finally(() => {
    signal.removeEventListener("abort", stop);
    for (const subscription of subscriptions) subscription[Symbol.dispose]();
  });
}

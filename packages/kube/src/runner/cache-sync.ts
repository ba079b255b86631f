import type { Informer } from "../cache/informer.ts";
import type { Logger } from "../logger.ts";
import type { Scheduler } from "../queue/scheduler.ts";

/** A cache that a controller waits for before its first pass. */
export type SyncedCache = Pick<Informer, "resource" | "scope" | "synced" | "hasSynced">;

export interface CacheSyncOptions {
  readonly controller: string;
  readonly timeoutMs: number;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** Ends the reports. */
  readonly signal: AbortSignal;
}

/**
 * Settles when every cache has its first list; rejects when one is stopped before. A cache that has not synced within the
 * timeout is logged as an error, and again after each further timeout, while its list-watch keeps trying.
 */
export async function cachesSynced(caches: readonly SyncedCache[], options: CacheSyncOptions): Promise<void> {
  using _reports = repeat(options, (waitedMs) => {
    for (const cache of caches) if (!cache.hasSynced) report(cache, waitedMs, options);
  });
  await Promise.all(caches.map(({ synced }) => synced));
}

/** Calls back after each timeout until it is disposed or the controller is stopped. */
function repeat({ timeoutMs, scheduler, signal }: CacheSyncOptions, callback: (waitedMs: number) => void): Disposable {
  let timer: Disposable | undefined;
  const arm = (waitedMs: number): void => {
    timer = scheduler.schedule(timeoutMs, () => {
      callback(waitedMs);
      arm(waitedMs + timeoutMs);
    });
  };
  const stop = (): void => timer?.[Symbol.dispose]();
  arm(timeoutMs);
  signal.addEventListener("abort", stop, { once: true });
  return {
    [Symbol.dispose]: () => {
      stop();
      signal.removeEventListener("abort", stop);
    },
  };
}

function report({ resource, scope }: SyncedCache, waitedMs: number, { controller, log }: CacheSyncOptions): void {
  const { apiVersion, kind, plural } = resource;
  const where = scope.namespace === undefined ? "in all namespaces" : `in namespace "${scope.namespace}"`;
  const err = new Error(
    `Cannot start controller "${controller}": the cache of ${kind} (${apiVersion}) has no list after ${waitedMs / 1000} s. ` +
      `Check that the API server is reachable, that it serves ${plural}, and that this account may list and watch them ${where}`,
  );
  log.error({ controller, kind, apiVersion, waitedMs, err }, "cache not synced");
}

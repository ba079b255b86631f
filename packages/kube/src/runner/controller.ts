import type { CacheUpdate, Informer } from "../cache/informer.ts";
import type { Delta } from "../cache/store.ts";
import { silentLogger } from "../logger.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import type { AddOptions, Priority } from "../queue/work-queue.ts";
import { type KubeObject, objectKey, type Resource } from "../resource.ts";
import { cachesSynced, type SyncedCache } from "./cache-sync.ts";
import type { OwnWrites } from "./own-writes.ts";
import { controllerKey } from "./owner.ts";
import { type Reconcile, Runner, type RunnerOptions } from "./runner.ts";

/** A cache whose changes enqueue keys. Made by `watching`, `watchingOwned` and `following`. */
export interface Trigger {
  /** The controller waits for its first list. */
  readonly cache: SyncedCache;
  /** Calls `add` with each key that a change concerns. */
  connect(add: (key: string, priority: Priority) => void, ownWrites?: OwnWrites): Disposable;
}

export interface WatchingOptions<T> {
  /** Returns false for changes that concern no key. Default: every change counts. */
  readonly when?: (delta: Delta<T>) => boolean;
  /** Whether the controller's own writes (`Pass.ownWrite`) are ignored. Default false. */
  readonly skipOwnWrites?: boolean;
}

/** Enqueues the keys that `keysOf` returns for an object before and after its change. */
export function watching<T extends KubeObject>(
  informer: Informer<T>,
  keysOf: (object: T) => Iterable<string>,
  { when = () => true, skipOwnWrites = false }: WatchingOptions<T> = {},
): Trigger {
  return {
    cache: informer,
    connect: (add, ownWrites) =>
      informer.subscribe(({ deltas, initial }) => {
        const priority = initial ? "background" : "live";
        // Collected first: a key is reconciled as soon as it is added, so adding it twice would cost a second pass.
        const keys = new Set<string>();
        for (const delta of deltas) {
          if (skipOwnWrites && ownWrites?.takes(delta.new) === true) continue;
          if (!when(delta)) continue;
          if (delta.old !== undefined) for (const key of keysOf(delta.old)) keys.add(key);
          if (delta.new !== undefined) for (const key of keysOf(delta.new)) keys.add(key);
        }
        for (const key of keys) add(key, priority);
      }),
  };
}

/** Enqueues the controller of an object, if its kind is `owner`. */
export function watchingOwned<T extends KubeObject>(
  informer: Informer<T>,
  owner: Resource,
  options?: WatchingOptions<T>,
): Trigger {
  const keysOf = (object: T): string[] => {
    const key = controllerKey(object, owner);
    return key === undefined ? [] : [key];
  };
  return watching(informer, keysOf, options);
}

/** Passes on every change of a cache and enqueues nothing: for state that is derived from a cache. */
export function following<T extends KubeObject>(
  informer: Informer<T>,
  follow: (update: CacheUpdate<T>) => void,
): Trigger {
  return { cache: informer, connect: () => informer.subscribe(follow) };
}

/** A reconcile with state of its own that follows the primary cache. Made by `reconciler`. */
export interface Reconciler<T extends KubeObject> {
  readonly reconcile: Reconcile;
  follow(update: CacheUpdate<T>): void;
}

export interface ControllerOptions<T extends KubeObject> extends Omit<RunnerOptions, "reconcile"> {
  readonly reconcile: Reconcile | Reconciler<T>;
  /** The objects whose keys are reconciled. The controller's own writes to them enqueue nothing. */
  readonly primary: Informer<T>;
  readonly when?: WatchingOptions<T>["when"];
  /** What else enqueues a key. Connected in this order. */
  readonly triggers?: readonly Trigger[];
  /** How often every object is reconciled although nothing changed. Default 10 h. */
  readonly resyncMs?: number;
  /** After how long a cache without its first list is logged as an error, again and again. Default 2 min. */
  readonly syncTimeoutMs?: number;
  /** Stops the controller. */
  readonly signal?: AbortSignal;
}

/** A running controller. Its first pass starts when every cache it reads has its first list. */
export class Controller implements AsyncDisposable {
  /** Settles when the caches have synced; rejects when one is stopped before. */
  readonly ready: Promise<void>;
  readonly #runner: Runner;
  readonly #cleanup = new DisposableStack();

  private constructor(runner: Runner, ready: Promise<void>) {
    this.#runner = runner;
    this.ready = ready.then(() => runner.start());
    // Awaiting it is optional.
    this.ready.catch(() => undefined);
  }

  static start<T extends KubeObject>(options: ControllerOptions<T>): Controller {
    const { primary, triggers = [], when, signal, reconcile: given } = options;
    const reconcile = typeof given === "function" ? given : given.reconcile;
    const keyOfObject = (object: T): string[] => [objectKey(object)];
    const all = [
      // First: the passes that the other triggers cause must find this state up to date.
      ...(typeof given === "function" ? [] : [following(primary, (update) => given.follow(update))]),
      watching(primary, keyOfObject, { skipOwnWrites: true, ...(when && { when }) }),
      ...triggers,
    ];
    const runner = new Runner({ ...options, reconcile });
    const stopped = new AbortController();
    const controller = new Controller(runner, syncOf(all, options, stopped.signal));
    controller.#cleanup.defer(() => stopped.abort());
    for (const trigger of all) {
      controller.#cleanup.use(trigger.connect((key, priority) => runner.add(key, { priority }), runner.ownWrites));
    }
    controller.#resync(primary, options);
    if (signal !== undefined) {
      const stop = (): void => void controller.stop();
      signal.addEventListener("abort", stop, { once: true });
      controller.#cleanup.defer(() => signal.removeEventListener("abort", stop));
    }
    return controller;
  }

  /** Enqueues a key for a reason that no cache shows. */
  enqueue(key: string, options?: AddOptions): void {
    this.#runner.add(key, options);
  }

  async stop(): Promise<void> {
    this.#cleanup.dispose();
    await this.#runner.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #resync(
    primary: Informer,
    { resyncMs = 36_000_000, scheduler = systemScheduler }: { resyncMs?: number; scheduler?: Scheduler },
  ): void {
    let timer: Disposable;
    const arm = (): void => {
      timer = scheduler.schedule(resyncMs, () => {
        for (const object of primary.list()) this.#runner.add(objectKey(object), { priority: "background" });
        arm();
      });
    };
    arm();
    this.#cleanup.defer(() => timer[Symbol.dispose]());
  }
}

function syncOf<T extends KubeObject>(
  triggers: readonly Trigger[],
  options: ControllerOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { name, scheduler = systemScheduler, log = silentLogger, syncTimeoutMs = 120_000 } = options;
  const caches = new Set(triggers.map(({ cache }) => cache));
  return cachesSynced([...caches], { controller: name, scheduler, log, timeoutMs: syncTimeoutMs, signal });
}

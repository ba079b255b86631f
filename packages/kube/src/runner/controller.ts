import type { Informer } from "../cache/informer.ts";
import type { Delta } from "../cache/store.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import type { AddOptions, Priority } from "../queue/work-queue.ts";
import { type KubeObject, objectKey, type Resource } from "../resource.ts";
import { controllerKey } from "./owner.ts";
import { Runner, type RunnerOptions } from "./runner.ts";

/** A cache whose changes wake keys. Made by `watching` and `watchingOwned`. */
export interface Trigger {
  readonly synced: Promise<void>;
  /** Calls back with each key that a change concerns. */
  connect(add: (key: string, priority: Priority) => void): Disposable;
}

export interface WatchingOptions<T> {
  /** Leaves out changes that concern nobody. Default: none. */
  readonly when?: (delta: Delta<T>) => boolean;
}

/** Wakes the keys that `keysOf` names for an object, as it was and as it is. */
export function watching<T extends KubeObject>(
  informer: Informer<T>,
  keysOf: (object: T) => Iterable<string>,
  { when = () => true }: WatchingOptions<T> = {},
): Trigger {
  return {
    synced: informer.synced,
    connect: (add) =>
      informer.subscribe(({ deltas, initial }) => {
        const priority = initial ? "background" : "live";
        // Gathered first: a key is worked on as soon as it is added, and a second mention would cost it a second pass.
        const keys = new Set<string>();
        for (const delta of deltas) {
          if (!when(delta)) continue;
          if (delta.old !== undefined) for (const key of keysOf(delta.old)) keys.add(key);
          if (delta.new !== undefined) for (const key of keysOf(delta.new)) keys.add(key);
        }
        for (const key of keys) add(key, priority);
      }),
  };
}

/** Wakes the controller of an object, when that is of the given kind. */
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

export interface ControllerOptions<T extends KubeObject> extends RunnerOptions {
  /** The objects whose keys are reconciled. */
  readonly primary: Informer<T>;
  readonly when?: WatchingOptions<T>["when"];
  /** What else wakes a key. */
  readonly triggers?: readonly Trigger[];
  /** How often every object is looked at again though nothing changed. Default 10 h. */
  readonly resyncMs?: number;
  /** Stops the controller. */
  readonly signal?: AbortSignal;
}

/** A running controller. It begins to work when every cache it reads has its first list. */
export class Controller implements AsyncDisposable {
  /** Settles when work has begun; rejects when a cache is stopped before. */
  readonly ready: Promise<void>;
  readonly #runner: Runner;
  readonly #cleanup = new DisposableStack();

  private constructor(runner: Runner, ready: Promise<void>) {
    this.#runner = runner;
    this.ready = ready.then(() => runner.start());
    // Nobody has to wait for it.
    this.ready.catch(() => undefined);
  }

  static start<T extends KubeObject>(options: ControllerOptions<T>): Controller {
    const { primary, triggers = [], when, signal } = options;
    const all = [watching(primary, (object) => [objectKey(object)], when === undefined ? {} : { when }), ...triggers];
    const synced = Promise.all(all.map((trigger) => trigger.synced)).then(() => undefined);
    const controller = new Controller(new Runner(options), synced);
    for (const trigger of all) {
      controller.#cleanup.use(trigger.connect((key, priority) => controller.#runner.add(key, { priority })));
    }
    controller.#resync(primary, options);
    if (signal !== undefined) {
      const stop = (): void => void controller.stop();
      signal.addEventListener("abort", stop, { once: true });
      controller.#cleanup.defer(() => signal.removeEventListener("abort", stop));
    }
    return controller;
  }

  /** Wakes a key for a reason that no cache shows. */
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

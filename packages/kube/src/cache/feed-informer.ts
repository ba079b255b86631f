import { KubeError } from "../errors.ts";
import { type Logger, silentLogger } from "../logger.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { Change } from "../watch/follow.ts";
import type { CacheUpdate, Informer, Scope, Subscriber } from "./informer.ts";
import type { Delta, Index, IndexFunction } from "./store.ts";
import { VersionedStore } from "./versioned-store.ts";

/** Opens the feed of changes: `followResource`, or a fake in tests. */
export type OpenFeed<T extends KubeObject> = (signal: AbortSignal) => AsyncIterable<Change<T>>;

export interface FeedInformerOptions<T extends KubeObject> {
  readonly open: OpenFeed<T>;
  /** The transform of the feed, applied here to the objects of live reads. */
  readonly trim: (object: T) => T;
  /**
   * Awaited before changes are applied, so that the response to a write is processed before its watch event, and changes
   * that arrive together are applied together.
   */
  readonly turn?: () => Promise<void> | undefined;
  /** Called when an index function throws for an object. */
  readonly onInvalidObject?: (error: unknown) => void;
  readonly log?: Logger;
}

/** An informer that follows a feed of changes until it is disposed. */
export class FeedInformer<T extends KubeObject> implements Informer<T>, AsyncDisposable {
  readonly resource: Resource<T>;
  readonly scope: Scope;
  readonly synced: Promise<void>;
  readonly #trim: (object: T) => T;
  readonly #store: VersionedStore<T>;
  readonly #subscribers = new Set<Subscriber<T>>();
  readonly #stopping = new AbortController();
  readonly #log: Logger;
  readonly #running: Promise<void>;
  readonly #settleSynced: PromiseWithResolvers<void>;
  #hasSynced = false;

  constructor(resource: Resource<T>, scope: Scope, options: FeedInformerOptions<T>) {
    this.resource = resource;
    this.scope = scope;
    this.#trim = options.trim;
    this.#log = options.log ?? silentLogger;
    this.#store = new VersionedStore(options.onInvalidObject);
    this.#settleSynced = Promise.withResolvers();
    this.synced = this.#settleSynced.promise;
    // Prevent an unhandled rejection when nobody awaits it.
    this.synced.catch(() => undefined);
    this.#running = this.#run(options);
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return [...this.#store.values()];
  }

  index(name: string, valuesOf: IndexFunction<T>): Index<T> {
    return this.#store.index(name, valuesOf);
  }

  get version(): string | undefined {
    return this.#store.version;
  }

  knownAt(key: string): string | undefined {
    return this.#store.knownAt(key);
  }

  subscribe(subscriber: Subscriber<T>): Disposable {
    this.#subscribers.add(subscriber);
    if (this.#hasSynced) {
      const deltas = Array.from(this.#store.entries(), ([key, object]) => ({ key, old: undefined, new: object }));
      this.#notify(subscriber, { deltas, initial: true, wentBack: false });
    }
    return { [Symbol.dispose]: () => this.#subscribers.delete(subscriber) };
  }

  applyLiveRead(found: Iterable<readonly [key: string, object: T | undefined]>, version: string): void {
    const deltas: Delta<T>[] = [];
    for (const [key, object] of found) {
      const delta = this.#store.applyLiveRead(key, object && this.#trim(object), version);
      if (delta !== undefined) deltas.push(delta);
    }
    // Also without a delta: subscribers may wait for the cache to reach the version.
    this.#notifyAll({ deltas, initial: false, wentBack: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#settleSynced.reject(
      new KubeError("Unreachable", `Cannot sync ${this.resource.plural}: the informer was stopped`),
    );
    await this.#running;
  }

  async #run({ open, turn }: FeedInformerOptions<T>): Promise<void> {
    try {
      for await (const change of open(this.#stopping.signal)) {
        await turn?.();
        this.#apply(change);
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#log.error({ resource: this.resource.plural, err: error }, "informer ended");
      this.#settleSynced.reject(error);
    }
  }

  #apply(change: Change<T>): void {
    const wentBack = this.#store.goesBack(change);
    const deltas = this.#store.apply(change);
    const initial = !this.#hasSynced;
    this.#hasSynced = true;
    this.#notifyAll({ deltas, initial, wentBack });
    if (initial) this.#settleSynced.resolve();
  }

  #notifyAll(update: CacheUpdate<T>): void {
    for (const subscriber of this.#subscribers) this.#notify(subscriber, update);
  }

  #notify(subscriber: Subscriber<T>, update: CacheUpdate<T>): void {
    try {
      subscriber(update);
    } catch (error) {
      this.#log.error({ resource: this.resource.plural, err: error }, "subscriber failed");
    }
  }
}

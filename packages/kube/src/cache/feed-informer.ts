import { KubeError } from "../errors.ts";
import { type Logger, silentLogger } from "../logger.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { Change } from "../watch/follow.ts";
import type { CacheUpdate, Informer, Scope, Subscriber } from "./informer.ts";
import type { Delta, Index, IndexFunction } from "./store.ts";
import { VersionedStore } from "./versioned-store.ts";

/** Opens the feed an informer lives on: `followResource`, or a test's own. */
export type OpenFeed<T extends KubeObject> = (signal: AbortSignal) => AsyncIterable<Change<T>>;

export interface FeedInformerOptions<T extends KubeObject> {
  readonly open: OpenFeed<T>;
  /** What the feed does to each object; done here to those a live read finds. */
  readonly trim: (object: T) => T;
  /**
   * Waited for before changes are taken in. A write's answer that comes with its event is then known first, and what
   * happens meanwhile comes in one piece.
   */
  readonly turn?: () => Promise<void> | undefined;
  /** Told when an index function cannot take an object. */
  readonly onPoison?: (error: unknown) => void;
  readonly log?: Logger;
}

/** An informer that lives on a feed of changes, from its making until it is disposed. */
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
    this.#store = new VersionedStore(options.onPoison);
    this.#settleSynced = Promise.withResolvers();
    this.synced = this.#settleSynced.promise;
    // Nobody has to wait for it.
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
      this.#tell(subscriber, { deltas, initial: true, wentBack: false });
    }
    return { [Symbol.dispose]: () => this.#subscribers.delete(subscriber) };
  }

  observe(found: Iterable<readonly [key: string, object: T | undefined]>, version: string): void {
    const deltas: Delta<T>[] = [];
    for (const [key, object] of found) {
      const delta = this.#store.observe(key, object && this.#trim(object), version);
      if (delta !== undefined) deltas.push(delta);
    }
    // Told even without a delta: that the cache knows more is news to those who wait for it.
    this.#tellAll({ deltas, initial: false, wentBack: false });
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
    this.#tellAll({ deltas, initial, wentBack });
    if (initial) this.#settleSynced.resolve();
  }

  #tellAll(update: CacheUpdate<T>): void {
    for (const subscriber of this.#subscribers) this.#tell(subscriber, update);
  }

  #tell(subscriber: Subscriber<T>, update: CacheUpdate<T>): void {
    try {
      subscriber(update);
    } catch (error) {
      this.#log.error({ resource: this.resource.plural, err: error }, "subscriber failed");
    }
  }
}

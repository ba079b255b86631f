import type { KubeObject, Resource } from "../resource.ts";
import type { Delta, Index, IndexFunction } from "./store.ts";

/** Which objects of a resource an informer holds. */
export interface Scope {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** What a batch from the server changed in the cache. It is told after all of it is in. */
export interface CacheUpdate<T> {
  readonly deltas: readonly Delta<T>[];
  /** The first list, or what a new subscriber finds: nobody just changed these. */
  readonly initial: boolean;
  /** The server went back in time (a restored backup): versions seen before mean nothing any more. */
  readonly wentBack: boolean;
}

export type Subscriber<T> = (update: CacheUpdate<T>) => void;

/**
 * The objects of one resource in one scope, kept up to date by one list-watch for however many readers. What it returns
 * is shared and must not be changed.
 */
export interface Informer<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly scope: Scope;
  /** Settles with the first list; rejects when the informer is stopped before. */
  readonly synced: Promise<void>;
  readonly hasSynced: boolean;
  readonly size: number;
  /** Everything up to this version is in the cache; absent before the first list. */
  readonly version: string | undefined;
  get(key: string): T | undefined;
  list(): T[];
  /** An index shared by name: whoever asks first has it built. */
  index(name: string, valuesOf: IndexFunction<T>): Index<T>;
  /** The version up to which the cache knows what happened to this key: a live read may have brought it further. */
  knownAt(key: string): string | undefined;
  /** Told of what is there, if the first list has come, and of every change from then on. */
  subscribe(subscriber: Subscriber<T>): Disposable;
  /**
   * Takes in what a live read found: each key's object as it came from the server, or none, as of `version`. The feed may
   * be behind that; it does not take the cache back.
   */
  observe(found: Iterable<readonly [key: string, object: T | undefined]>, version: string): void;
}

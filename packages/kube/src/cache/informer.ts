import type { KubeObject, Resource } from "../resource.ts";
import type { Delta, Index, IndexFunction } from "./store.ts";

/** Which objects of a resource an informer holds. */
export interface Scope {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** What a batch from the server changed in the cache. Subscribers are called after the whole batch is applied. */
export interface CacheUpdate<T> {
  readonly deltas: readonly Delta<T>[];
  /** The first list, or the content of the cache when the subscriber was added: not recent changes. */
  readonly initial: boolean;
  /** The server was restored from a backup: earlier versions are no longer valid. */
  readonly wentBack: boolean;
}

export type Subscriber<T> = (update: CacheUpdate<T>) => void;

/**
 * A cache of the objects of one resource in one scope, kept up to date by one list-watch. Its objects are shared and must
 * not be modified.
 */
export interface Informer<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly scope: Scope;
  /** Resolves after the first list; rejects if the informer is stopped before. */
  readonly synced: Promise<void>;
  readonly hasSynced: boolean;
  readonly size: number;
  /** The cache contains everything up to this version; absent before the first list. */
  readonly version: string | undefined;
  get(key: string): T | undefined;
  list(): T[];
  /** An index, shared by name and built on first use. */
  index(name: string, valuesOf: IndexFunction<T>): Index<T>;
  /** The version up to which the cache is current for this key. A live read may have moved it ahead of `version`. */
  knownAt(key: string): string | undefined;
  /** Calls the subscriber with the current content, if the cache has synced, and with every change from then on. */
  subscribe(subscriber: Subscriber<T>): Disposable;
  /**
   * Applies the result of a live read: the object of each key, or undefined, as of `version`. Older events from the watch do
   * not undo it.
   */
  applyLiveRead(found: Iterable<readonly [key: string, object: T | undefined]>, version: string): void;
}

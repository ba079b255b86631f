import { Heap, type HeapItem } from "../queue/heap.ts";
import { type KubeObject, objectKey } from "../resource.ts";
import { compareVersions, includesVersion, isDecimal } from "../resource-version.ts";
import type { ChangeEvent } from "../watch/batch.ts";
import type { Change } from "../watch/follow.ts";
import { type Delta, Store } from "./store.ts";

/** A key that a live read moved to a version that the feed has not reached. */
interface Ahead extends HeapItem {
  readonly key: string;
  readonly version: string;
}

/**
 * A store that only moves forward. It follows a feed. Live reads may move single keys ahead of the feed; older events for
 * these keys are ignored.
 */
export class VersionedStore<T extends KubeObject> extends Store<T> {
  readonly #ahead = new Map<string, Ahead>();
  readonly #aheadByVersion = new Heap<Ahead>((a, b) => (compareVersions(a.version, b.version) ?? 0) < 0);
  #version: string | undefined;

  /** The store contains everything up to this version; absent before the first reset. */
  get version(): string | undefined {
    return this.#version;
  }

  /** The version up to which the store is current for this key. */
  knownAt(key: string): string | undefined {
    return this.#ahead.get(key)?.version ?? this.#version;
  }

  /** Applies a change of the feed and returns what it changed. */
  apply(change: Change<T>): Delta<T>[] {
    const deltas: Delta<T>[] = [];
    if (change.type === "reset") {
      if (this.goesBack(change)) this.#forgetAhead();
      this.#advance(change.resourceVersion);
      this.#reset(change.items, deltas);
    } else {
      for (const event of change.events) this.#take(event, deltas);
      this.#advance(change.resourceVersion);
    }
    return deltas;
  }

  /** Applies the result of a live read of `key` at `version`, unless the store is already newer. */
  applyLiveRead(key: string, object: T | undefined, version: string): Delta<T> | undefined {
    if (includesVersion(this.knownAt(key), version)) return undefined;
    if (isDecimal(version)) this.#setAhead(key, version);
    return isSame(this.get(key), object) ? undefined : this.put(key, object);
  }

  /** Whether this reset is older than the store: the server was restored from a backup. */
  goesBack(change: Change<T>): boolean {
    return change.type === "reset" && (compareVersions(change.resourceVersion, this.#version) ?? 0) < 0;
  }

  #take({ type, object }: ChangeEvent<T>, deltas: Delta<T>[]): void {
    const key = objectKey(object);
    const stored = this.get(key);
    const version = object.metadata?.resourceVersion;
    if (this.#isOld(key, stored, version)) return;
    if (type === "upsert" && isSame(stored, object)) return;
    const delta = this.put(key, type === "upsert" ? object : undefined);
    if (delta !== undefined) deltas.push(delta);
  }

  #isOld(key: string, stored: T | undefined, version: string | undefined): boolean {
    if (this.#ahead.size > 0) {
      const ahead = this.#ahead.get(key);
      if (ahead !== undefined && version !== undefined && includesVersion(ahead.version, version)) return true;
    }
    return (compareVersions(version, stored?.metadata?.resourceVersion) ?? 0) < 0;
  }

  #reset(items: readonly T[], deltas: Delta<T>[]): void {
    const present = new Set<string>();
    for (const object of items) {
      const key = objectKey(object);
      present.add(key);
      if (this.#ahead.has(key) || isSame(this.get(key), object)) continue;
      deltas.push(this.put(key, object) as Delta<T>);
    }
    for (const [key] of this.entries()) {
      if (present.has(key) || this.#ahead.has(key)) continue;
      deltas.push(this.put(key, undefined) as Delta<T>);
    }
  }

  #setAhead(key: string, version: string): void {
    const old = this.#ahead.get(key);
    if (old !== undefined) this.#aheadByVersion.remove(old);
    const ahead: Ahead = { key, version, position: -1 };
    this.#ahead.set(key, ahead);
    this.#aheadByVersion.push(ahead);
  }

  #advance(version: string): void {
    this.#version = version;
    for (let first = this.#aheadByVersion.first(); first !== undefined; first = this.#aheadByVersion.first()) {
      if (!includesVersion(version, first.version)) return;
      this.#aheadByVersion.remove(first);
      this.#ahead.delete(first.key);
    }
  }

  #forgetAhead(): void {
    this.#ahead.clear();
    while (this.#aheadByVersion.shift() !== undefined);
  }
}

function isSame(a: KubeObject | undefined, b: KubeObject | undefined): boolean {
  return (
    a?.metadata?.resourceVersion === b?.metadata?.resourceVersion &&
    a?.metadata?.uid === b?.metadata?.uid &&
    (a === undefined) === (b === undefined)
  );
}

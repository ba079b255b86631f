import { Heap, type HeapItem } from "../queue/heap.ts";
import { includesVersion } from "../resource-version.ts";
import type { CacheUpdate, Informer } from "./informer.ts";

/**
 * What a cache has yet to show:
 * - `version`: everything that happened to the key up to a version. `written` is the uid it had then; where `gone` is set,
 *   no object of that uid may show any more.
 * - `gone`: no object of that uid. The version of the delete is not known, but the cache still shows the object.
 * - `look`: nothing the feed brings can tell; only a live read of the key does. `look-around`: of the key's namespace.
 */
export type Need =
  | {
      readonly type: "version";
      readonly version: string;
      readonly written?: string | undefined;
      readonly gone?: string | undefined;
    }
  | { readonly type: "gone"; readonly uid: string }
  | { readonly type: "look" }
  | { readonly type: "look-around" };

export function isUnsure(need: Need): boolean {
  return need.type === "look" || need.type === "look-around";
}

/** What is needed when a write follows one that is not shown yet, in the order in which their answers came. */
export function combineNeeds(earlier: Need | undefined, next: Need): Need {
  if (earlier === undefined) return next;
  // A doubt is not settled by an answer that may be older than it.
  if (isUnsure(earlier)) return earlier;
  const isLate =
    earlier.type === "version" && next.type === "version" && includesVersion(earlier.version, next.version);
  return isLate ? { ...next, version: earlier.version } : next;
}

export interface Wait extends HeapItem {
  readonly lag: Lag;
  readonly key: string;
  need: Need;
  readonly onSettled: () => void;
}

/** The waits on one informer. Each is looked at when its key changes or its version is reached, not before. */
export class Lag {
  /** Tells the lags of one fence apart. */
  readonly id: number;
  readonly informer: Informer;
  readonly #byKey = new Map<string, Set<Wait>>();
  readonly #byVersion = new Heap<Wait>((a, b) => !includesVersion(versionOf(a), versionOf(b)));
  readonly #subscription: Disposable;

  constructor(id: number, informer: Informer) {
    this.id = id;
    this.informer = informer;
    this.#subscription = informer.subscribe((update) => this.#follow(update));
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  add(wait: Wait): void {
    if (this.#isSettled(wait)) return wait.onSettled();
    const waits = this.#byKey.get(wait.key);
    if (waits === undefined) this.#byKey.set(wait.key, new Set([wait]));
    else waits.add(wait);
    if (wait.need.type === "version") this.#byVersion.push(wait);
  }

  remove(wait: Wait): void {
    const waits = this.#byKey.get(wait.key);
    waits?.delete(wait);
    if (waits?.size === 0) this.#byKey.delete(wait.key);
    this.#byVersion.remove(wait);
  }

  /** Whether what was written is no longer there, though the cache has come past the write. */
  hasVanished({ key, need }: Wait): boolean {
    return need.type === "version" && need.written !== undefined && !this.#shows(key, need.written);
  }

  /** Settles what is now settled at this key. */
  recheck(key: string): void {
    for (const wait of this.#byKey.get(key) ?? []) this.#settleIfMet(wait);
  }

  #follow({ deltas, wentBack }: CacheUpdate<unknown>): void {
    if (this.#byKey.size === 0) return;
    if (wentBack) this.#distrust();
    for (const { key } of deltas) this.recheck(key);
    for (let wait = this.#byVersion.first(); wait !== undefined; wait = this.#byVersion.first()) {
      if (!includesVersion(this.informer.version, versionOf(wait))) return;
      // From here on only the key's own events matter: its version is reached.
      this.#byVersion.remove(wait);
      this.#settleIfMet(wait);
    }
  }

  /** Versions from before the server went back are never reached, or reached by something else. */
  #distrust(): void {
    for (const waits of this.#byKey.values()) {
      for (const wait of waits) {
        this.#byVersion.remove(wait);
        if (wait.need.type !== "look-around") wait.need = { type: "look" };
      }
    }
  }

  #settleIfMet(wait: Wait): void {
    if (!this.#isSettled(wait)) return;
    this.remove(wait);
    wait.onSettled();
  }

  #isSettled({ key, need }: Wait): boolean {
    switch (need.type) {
      case "version":
        return includesVersion(this.informer.knownAt(key), need.version) && !this.#shows(key, need.gone);
      case "gone":
        return !this.#shows(key, need.uid);
      default:
        return false;
    }
  }

  #shows(key: string, uid: string | undefined): boolean {
    return uid !== undefined && this.informer.get(key)?.metadata?.uid === uid;
  }
}

function versionOf({ need }: Wait): string {
  return need.type === "version" ? need.version : "";
}

import { Heap, type HeapItem } from "../queue/heap.ts";
import { includesVersion } from "../resource-version.ts";
import type { CacheUpdate, Informer } from "./informer.ts";

/**
 * What a cache must contain before a wait is over:
 * - `version`: everything that happened to the key up to a version. `written` is the uid it had then; if `gone` is set, the
 *   cache must no longer contain an object with that uid.
 * - `gone`: no object with that uid. The version of the delete is unknown, and the cache still contains the object.
 * - `read`: a live read of the key is needed. `list`: a live list of the key's namespace is needed.
 */
export type Need =
  | {
      readonly type: "version";
      readonly version: string;
      readonly written?: string | undefined;
      readonly gone?: string | undefined;
    }
  | { readonly type: "gone"; readonly uid: string }
  | { readonly type: "read" }
  | { readonly type: "list" };

export function needsLiveRead(need: Need): boolean {
  return need.type === "read" || need.type === "list";
}

/** Combines the needs of two writes to a key, in the order in which their responses arrived. */
export function combineNeeds(earlier: Need | undefined, next: Need): Need {
  if (earlier === undefined) return next;
  // The later response may be older than the write whose result is unknown.
  if (needsLiveRead(earlier)) return earlier;
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

/** The waits on one informer. A wait is checked when its key changes or its version is reached. */
export class Lag {
  /** Unique within one fence. */
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

  /** Whether the written object no longer exists although the cache is past the write. */
  hasVanished({ key, need }: Wait): boolean {
    return need.type === "version" && need.written !== undefined && !this.#shows(key, need.written);
  }

  /** Settles the waits on this key whose need is met. */
  recheck(key: string): void {
    for (const wait of this.#byKey.get(key) ?? []) this.#settleIfMet(wait);
  }

  #follow({ deltas, wentBack }: CacheUpdate<unknown>): void {
    if (this.#byKey.size === 0) return;
    if (wentBack) this.#dropVersions();
    for (const { key } of deltas) this.recheck(key);
    for (let wait = this.#byVersion.first(); wait !== undefined; wait = this.#byVersion.first()) {
      if (!includesVersion(this.informer.version, versionOf(wait))) return;
      // The version is reached: from now on only events of the key matter.
      this.#byVersion.remove(wait);
      this.#settleIfMet(wait);
    }
  }

  /** After a restore from a backup, versions from before it are never reached, or belong to other writes. */
  #dropVersions(): void {
    for (const waits of this.#byKey.values()) {
      for (const wait of waits) {
        this.#byVersion.remove(wait);
        if (wait.need.type !== "list") wait.need = { type: "read" };
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

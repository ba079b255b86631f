import type { ApiObject } from "../api-object.ts";
import { Interner } from "../interner.ts";
import type { Saved } from "./saved.ts";

const maxObjects = 4096;
/** In characters of JSON. */
const maxLength = 12 * 1024 * 1024;

/**
 * Decides which objects a store keeps parsed beside their JSON: those that were written or parsed last. A parsed object
 * takes more than twice the memory of its JSON.
 */
export class ObjectCache {
  readonly interner: Interner;
  /** A ring. Evicting the oldest entry of a `Map` takes longer, because it skips all entries that were deleted before. */
  readonly #ring: (Saved | undefined)[] = [];
  #oldest = 0;
  #count = 0;
  #length = 0;

  constructor(interner: Interner = new Interner()) {
    this.interner = interner;
  }

  parse(json: string): ApiObject {
    return this.interner.protect(this.interner.internSpec(JSON.parse(json) as ApiObject));
  }

  /** Call when `saved` has a parsed object. Calls `saved.release()` when that object is evicted. */
  add(saved: Saved): void {
    this.#ring[(this.#oldest + this.#count) % maxObjects] = saved;
    this.#count += 1;
    this.#length += saved.json.length;
    while (this.#count === maxObjects || this.#length > maxLength) this.#evictOldest();
  }

  #evictOldest(): void {
    const saved = this.#ring[this.#oldest];
    this.#ring[this.#oldest] = undefined;
    this.#oldest = (this.#oldest + 1) % maxObjects;
    this.#count -= 1;
    if (saved === undefined) return;
    this.#length -= saved.json.length;
    saved.release();
  }
}

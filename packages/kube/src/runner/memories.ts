import type { CacheUpdate } from "../cache/informer.ts";
import type { KubeObject } from "../resource.ts";

interface Entry<M> {
  readonly uid: string;
  readonly memory: M;
}

/**
 * The memory of a controller between passes: one value per UID. Decisions replace the value and never modify it.
 * It is dropped when the object goes or another one takes its name, and lost with the process.
 */
export class Memories<T extends KubeObject, M> {
  readonly #byKey = new Map<string, Entry<M>>();
  readonly #initial: (object: T | undefined) => M;

  /** `initial` is called when the object is first observed. */
  constructor(initial: (object: T | undefined) => M) {
    this.#initial = initial;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Creates memories when objects appear in the cache, and drops them with the objects. */
  follow({ deltas }: Pick<CacheUpdate<T>, "deltas">): void {
    for (const { key, old, new: object } of deltas) {
      if (object !== undefined) this.of(key, object);
      else if (this.#byKey.get(key)?.uid === old?.metadata?.uid) this.#byKey.delete(key);
    }
  }

  of(key: string, object: T | undefined): M {
    const uid = object?.metadata?.uid;
    const known = this.#byKey.get(key);
    if (known !== undefined && known.uid === uid) return known.memory;
    const memory = this.#initial(object);
    if (uid !== undefined) this.#byKey.set(key, { uid, memory });
    return memory;
  }

  /** Replaces the memory of an object; without effect when the object has gone since. */
  set(key: string, object: T | undefined, memory: M): void {
    const uid = object?.metadata?.uid;
    if (uid !== undefined && this.#byKey.get(key)?.uid === uid) this.#byKey.set(key, { uid, memory });
  }

  delete(key: string): void {
    this.#byKey.delete(key);
  }
}

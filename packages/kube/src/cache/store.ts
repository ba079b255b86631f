/** The index values of an object; none if it throws. It runs on every change, so it must be pure and cheap. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Objects by a value other than their key. */
export interface Index<T> {
  get(value: string): readonly T[];
  count(value: string): number;
}

/** `old` is undefined for a new object, `new` for a deleted one. */
export interface Delta<T> {
  readonly key: string;
  readonly old: T | undefined;
  readonly new: T | undefined;
}

class StoreIndex<T> implements Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly #objects: ReadonlyMap<string, T>;
  readonly #keys = new Map<string, Set<string>>();
  readonly #onInvalidObject: (error: unknown) => void;

  constructor(objects: ReadonlyMap<string, T>, valuesOf: IndexFunction<T>, onInvalidObject: (error: unknown) => void) {
    this.#objects = objects;
    this.valuesOf = valuesOf;
    this.#onInvalidObject = onInvalidObject;
    for (const [key, object] of objects) this.update({ key, old: undefined, new: object });
  }

  get(value: string): readonly T[] {
    const keys = this.#keys.get(value);
    return keys === undefined ? [] : Array.from(keys, (key) => this.#objects.get(key) as T);
  }

  count(value: string): number {
    return this.#keys.get(value)?.size ?? 0;
  }

  update(delta: Delta<T>): void {
    const before = this.#valuesOf(delta.old);
    const after = this.#valuesOf(delta.new);
    for (const value of before) if (!after.includes(value)) this.#remove(value, delta.key);
    for (const value of after) if (!before.includes(value)) this.#add(value, delta.key);
  }

  #valuesOf(object: T | undefined): readonly string[] {
    if (object === undefined) return [];
    try {
      return this.valuesOf(object);
    } catch (error) {
      this.#onInvalidObject(error);
      return [];
    }
  }

  #add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, new Set([key]));
    else keys.add(key);
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(value);
  }
}

/** Objects by key, with indexes kept up to date change by change. */
export class Store<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, StoreIndex<T>>();
  readonly #onInvalidObject: (error: unknown) => void;

  /** `onInvalidObject` is called with what an index function threw. */
  constructor(onInvalidObject: (error: unknown) => void = () => undefined) {
    this.#onInvalidObject = onInvalidObject;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries();
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Stores the object, or removes it if `object` is undefined. Returns undefined if there was nothing to remove. */
  put(key: string, object: T | undefined): Delta<T> | undefined {
    const delta: Delta<T> = { key, old: this.#objects.get(key), new: object };
    if (object !== undefined) this.#objects.set(key, object);
    else if (!this.#objects.delete(key)) return undefined;
    for (const index of this.#indexes.values()) index.update(delta);
    return delta;
  }

  /** The index with that name, built on first use. A name belongs to one function. */
  index(name: string, valuesOf: IndexFunction<T>): Index<T> {
    const existing = this.#indexes.get(name);
    if (existing === undefined) {
      const index = new StoreIndex(this.#objects, valuesOf, this.#onInvalidObject);
      this.#indexes.set(name, index);
      return index;
    }
    if (existing.valuesOf !== valuesOf) throw new Error(`Cannot add index "${name}": it exists with another function`);
    return existing;
  }
}

/** An item of a heap. The heap maintains `position`; it is -1 while the item is in no heap. */
export interface HeapItem {
  position: number;
}

/** A binary min-heap that supports removal of any item. */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#place(item, this.#items.length);
    this.#rise(item);
  }

  shift(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Removes the item. Does nothing if it is not in the heap. */
  remove(item: T): void {
    if (this.#items[item.position] !== item) return;
    const hole = item.position;
    const last = this.#items.pop() as T;
    item.position = -1;
    if (last === item) return;
    this.#place(last, hole);
    this.#rise(last);
    this.#sink(last);
  }

  #place(item: T, position: number): void {
    this.#items[position] = item;
    item.position = position;
  }

  #rise(item: T): void {
    while (item.position > 0) {
      const parent = this.#items[(item.position - 1) >> 1] as T;
      if (!this.#isBefore(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.position + 1];
      const right = this.#items[2 * item.position + 2];
      const least = right !== undefined && left !== undefined && this.#isBefore(right, left) ? right : left;
      if (least === undefined || !this.#isBefore(least, item)) return;
      this.#swap(least, item);
    }
  }

  #swap(a: T, b: T): void {
    const position = a.position;
    this.#place(a, b.position);
    this.#place(b, position);
  }
}

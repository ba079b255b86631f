export interface Link<T> {
  readonly value: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

/** A FIFO list with removal of any link in constant time. (Removing from the front makes a `Set` slower over time.) */
export class LinkedList<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;

  get first(): Link<T> | undefined {
    return this.#first;
  }

  push(value: T): Link<T> {
    const link: Link<T> = { value, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    return link;
  }

  /** The link must be in this list. */
  remove(link: Link<T>): void {
    if (link.before === undefined) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === undefined) this.#last = link.before;
    else link.after.before = link.before;
  }

  shift(): T | undefined {
    const link = this.#first;
    if (link !== undefined) this.remove(link);
    return link?.value;
  }
}

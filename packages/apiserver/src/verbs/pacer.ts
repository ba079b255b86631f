import { setImmediate } from "node:timers/promises";

/** JSON that is read between two pauses: about ten milliseconds. */
const readAtOnce = 1024 * 1024;

/** Lets the server do other things while a lot is read for one request. */
export class Pacer {
  #read = 0;

  /** Says how long the JSON is that is read next. A pause to wait for, when it is time for one. */
  next(length: number): Promise<void> | undefined {
    this.#read += length;
    if (this.#read <= readAtOnce) return undefined;
    this.#read = length;
    return setImmediate();
  }
}

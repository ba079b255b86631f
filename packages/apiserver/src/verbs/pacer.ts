import { setImmediate } from "node:timers/promises";

/** Characters of JSON that are parsed between two pauses, which takes about ten milliseconds. */
const readAtOnce = 1024 * 1024;

/** Yields to the event loop from time to time while one request parses many objects. */
export class Pacer {
  #read = 0;

  /** Call before parsing JSON of this length. Returns a pause to await when one is due. */
  next(length: number): Promise<void> | undefined {
    this.#read += length;
    if (this.#read <= readAtOnce) return undefined;
    this.#read = length;
    return setImmediate();
  }
}

import { HttpError } from "./http-error.ts";

/** Every connection may keep this many bytes: small requests work while others send large ones. */
const freeBytes = 16 * 1024;
/** What all queues of the process may keep together beyond that. */
const maxHeldBytes = 256 * 1024 * 1024;
let heldBytes = 0;

/**
 * Bytes that were received and are not used yet, in one piece: a peer that sends them one by one costs neither an object for each
 * nor a copy of all. Throws 503 if the queues of all connections have too much.
 */
export class ByteQueue implements Disposable {
  #buffer: Buffer = Buffer.allocUnsafe(0);
  #start = 0;
  #end = 0;
  #held = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Buffer): void {
    if (this.#end + chunk.length > this.#buffer.length) this.#makeRoom(chunk.length);
    this.#end += chunk.copy(this.#buffer, this.#end);
  }

  /** The next bytes, which stay in the queue. Valid until the next call. */
  peek(bytes: number): Buffer {
    return this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + bytes));
  }

  take(bytes: number = this.length): Buffer {
    const taken = Buffer.from(this.peek(bytes));
    this.#start += taken.length;
    if (this.length === 0) this.#start = this.#end = 0;
    return taken;
  }

  [Symbol.dispose](): void {
    this.#hold(0);
    this.#buffer = Buffer.allocUnsafe(0);
    this.#start = this.#end = 0;
  }

  #makeRoom(bytes: number): void {
    const { length } = this;
    const needed = length + bytes;
    // At least half of it is free afterwards, so that a byte is moved a few times at most.
    const capacity = Math.max(1024, 2 ** Math.ceil(Math.log2(2 * needed)));
    if (capacity > this.#buffer.length) this.#hold(capacity);
    const next = capacity > this.#buffer.length ? Buffer.allocUnsafe(capacity) : this.#buffer;
    this.#buffer.copy(next, 0, this.#start, this.#end);
    [this.#buffer, this.#start, this.#end] = [next, 0, length];
  }

  #hold(capacity: number): void {
    const wanted = Math.max(0, capacity - freeBytes);
    const after = heldBytes - this.#held + wanted;
    if (wanted > this.#held && after > maxHeldBytes) {
      throw new HttpError(503, "Too many large messages are being received: try again", {
        headers: { "retry-after": "1" },
      });
    }
    [heldBytes, this.#held] = [after, wanted];
  }
}

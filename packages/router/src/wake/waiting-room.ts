import { RouterError } from "../router-error.ts";

/** How much may wait for sandboxes to come up. What a held request sends stays with its sender. */
export interface WaitingRoomLimits {
  readonly perSandbox: number;
  readonly inAll: number;
  readonly bytesInAll: number;
}

export interface Held {
  readonly count: number;
  readonly bytes: number;
  readonly ofSandbox: number;
}

/** Why one more may not wait; undefined when it may. */
export function refuseWaiter(held: Held, bytes: number, limits: WaitingRoomLimits): string | undefined {
  if (held.ofSandbox >= limits.perSandbox) return `${limits.perSandbox} requests wait for this sandbox already`;
  if (held.count >= limits.inAll) return `${limits.inAll} requests wait for sandboxes already`;
  if (held.bytes + bytes > limits.bytesInAll) return "the requests that wait for sandboxes hold too many bytes";
  return undefined;
}

/** What an unread body costs while it is held: the parser reads ahead until its buffer is full, then stops the socket. */
export const readAheadBytes: number = 64 * 1024;

/** The requests that are held, counted. */
export class WaitingRoom {
  readonly #limits: WaitingRoomLimits;
  readonly #bySandbox = new Map<string, number>();
  #count = 0;
  #bytes = 0;

  constructor(limits: WaitingRoomLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Throws when there is no room. The place is free again when disposed. */
  enter(key: string, bytes: number): Disposable {
    const ofSandbox = this.#bySandbox.get(key) ?? 0;
    const refusal = refuseWaiter({ count: this.#count, bytes: this.#bytes, ofSandbox }, bytes, this.#limits);
    if (refusal !== undefined) {
      throw new RouterError("WaitingRoomFull", `Too many requests are waiting: ${refusal}`, { retryAfterSeconds: 1 });
    }
    this.#count += 1;
    this.#bytes += bytes;
    this.#bySandbox.set(key, ofSandbox + 1);
    return { [Symbol.dispose]: () => this.#leave(key, bytes) };
  }

  #leave(key: string, bytes: number): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    const left = (this.#bySandbox.get(key) ?? 0) - 1;
    if (left > 0) this.#bySandbox.set(key, left);
    else this.#bySandbox.delete(key);
  }
}

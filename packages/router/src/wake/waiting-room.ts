import { keyOf } from "@agent-sandbox/kube";
import { FairShare } from "../fair-share.ts";
import { RouterError } from "../router-error.ts";

/**
 * How much may wait for sandboxes to come up. What a held request sends stays with its sender. Namespaces share what there
 * is in all.
 */
export interface WaitingRoomLimits {
  readonly perSandbox: number;
  readonly inAll: number;
  readonly bytesInAll: number;
}

/** What an unread body costs while it is held: the parser reads ahead until its buffer is full, then stops the socket. */
export const readAheadBytes: number = 64 * 1024;

/** The requests that are held, counted. */
export class WaitingRoom {
  readonly #limits: WaitingRoomLimits;
  readonly #bySandbox = new Map<string, number>();
  readonly #requests: FairShare;
  readonly #bytes: FairShare;

  constructor(limits: WaitingRoomLimits) {
    this.#limits = limits;
    this.#requests = new FairShare(limits.inAll);
    this.#bytes = new FairShare(limits.bytesInAll);
  }

  get count(): number {
    return this.#requests.taken;
  }

  /** Throws when there is no room. The place is free again when disposed. */
  enter(sandbox: { readonly namespace: string; readonly name: string }, bytes: number): Disposable {
    const { namespace } = sandbox;
    const key = keyOf(sandbox);
    const ofSandbox = this.#bySandbox.get(key) ?? 0;
    const refusal = this.#refusal(namespace, ofSandbox, bytes);
    if (refusal !== undefined) {
      throw new RouterError("WaitingRoomFull", `Too many requests are waiting: ${refusal}`, { retryAfterSeconds: 1 });
    }
    this.#requests.take(namespace);
    this.#bytes.take(namespace, bytes);
    this.#bySandbox.set(key, ofSandbox + 1);
    return { [Symbol.dispose]: () => this.#leave(namespace, key, bytes) };
  }

  /** Why one more may not wait; undefined when it may. */
  #refusal(namespace: string, ofSandbox: number, bytes: number): string | undefined {
    const { perSandbox } = this.#limits;
    if (ofSandbox >= perSandbox) return `${perSandbox} requests wait for this sandbox already`;
    if (!this.#requests.has(namespace)) return "the namespace has its share of the requests that may wait";
    if (!this.#bytes.has(namespace, bytes)) return "the requests of the namespace that wait hold too many bytes";
    return undefined;
  }

  #leave(namespace: string, key: string, bytes: number): void {
    this.#requests.giveBack(namespace);
    this.#bytes.giveBack(namespace, bytes);
    const left = (this.#bySandbox.get(key) ?? 0) - 1;
    if (left > 0) this.#bySandbox.set(key, left);
    else this.#bySandbox.delete(key);
  }
}

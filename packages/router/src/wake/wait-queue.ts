import { FairShare, KeyCounts, keyOf } from "@agent-sandbox/kube";
import { RouterError } from "../router-error.ts";

/**
 * Limits on requests that wait for their sandbox to become ready. The bodies of waiting requests are not read. Namespaces
 * share the totals fairly.
 */
export interface WaitLimits {
  readonly perSandbox: number;
  readonly total: number;
  readonly totalBytes: number;
}

/** Memory for the body of a waiting request: the parser reads ahead until its buffer is full, then pauses the socket. */
export const readAheadBytes: number = 64 * 1024;

/** Counts the waiting requests and enforces the limits. */
export class WaitQueue {
  readonly #limits: WaitLimits;
  readonly #bySandbox = new KeyCounts();
  readonly #requests: FairShare;
  readonly #bytes: FairShare;

  constructor(limits: WaitLimits) {
    this.#limits = limits;
    this.#requests = new FairShare(limits.total);
    this.#bytes = new FairShare(limits.totalBytes);
  }

  get count(): number {
    return this.#requests.taken;
  }

  /** Counts a waiting request until the result is disposed. Throws `TooManyWaitingRequests` if a limit is reached. */
  add(sandbox: { readonly namespace: string; readonly name: string }, bytes: number): Disposable {
    const { namespace } = sandbox;
    const key = keyOf(sandbox);
    const refusal = this.#refusal(namespace, this.#bySandbox.of(key), bytes);
    if (refusal !== undefined) {
      throw new RouterError("TooManyWaitingRequests", `Too many requests are waiting: ${refusal}`, {
        retryAfterSeconds: 1,
      });
    }
    this.#requests.take(namespace);
    this.#bytes.take(namespace, bytes);
    this.#bySandbox.add(key);
    return { [Symbol.dispose]: () => this.#remove(namespace, key, bytes) };
  }

  /** The limit that one more request would exceed. Undefined if it may wait. */
  #refusal(namespace: string, ofSandbox: number, bytes: number): string | undefined {
    const { perSandbox } = this.#limits;
    if (ofSandbox >= perSandbox) return `${perSandbox} requests wait for this sandbox`;
    if (!this.#requests.has(namespace)) return "the namespace has reached its share of waiting requests";
    if (!this.#bytes.has(namespace, bytes)) return "the waiting requests of the namespace have too many bytes";
    return undefined;
  }

  #remove(namespace: string, key: string, bytes: number): void {
    this.#requests.giveBack(namespace);
    this.#bytes.giveBack(namespace, bytes);
    this.#bySandbox.add(key, -1);
  }
}

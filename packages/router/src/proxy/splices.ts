import type { Duplex } from "node:stream";
import type { Backlog } from "./backlog.ts";
import { Splice, type SpliceOptions } from "./splice.ts";

export interface JoinOptions extends Omit<SpliceOptions, "backlog"> {
  readonly podUid: string;
  readonly namespace: string;
}

/** The spliced connections, so that they can be closed when their pod is gone or the router stops. */
export class Splices {
  readonly #byPod = new Map<string, Set<Splice>>();
  readonly #backlog: Backlog;
  #isLeaving = false;

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  get size(): number {
    let size = 0;
    for (const joined of this.#byPod.values()) size += joined.size;
    return size;
  }

  /** Resolves when the splice has ended. */
  async join(client: Duplex, sandbox: Duplex, { podUid, namespace, ...options }: JoinOptions): Promise<void> {
    for (const stream of [client, sandbox]) this.#backlog.assign(stream, namespace);
    const splice = new Splice(client, sandbox, { ...options, backlog: this.#backlog });
    const siblings = this.#byPod.get(podUid) ?? new Set();
    this.#byPod.set(podUid, siblings.add(splice));
    if (this.#isLeaving) splice.leave();
    await splice.ended;
    siblings.delete(splice);
    if (siblings.size === 0) this.#byPod.delete(podUid);
  }

  drop(podUid: string): void {
    for (const splice of this.#byPod.get(podUid) ?? []) splice.destroy();
  }

  /** Sends a close frame to all WebSockets. */
  leave(): void {
    this.#isLeaving = true;
    for (const joined of this.#byPod.values()) for (const splice of joined) splice.leave();
  }

  destroy(): void {
    for (const joined of this.#byPod.values()) for (const splice of joined) splice.destroy();
  }
}

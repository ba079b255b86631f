import type { Duplex } from "node:stream";
import type { Backlog } from "./backlog.ts";
import { Splice, type SpliceOptions } from "./splice.ts";

export interface JoinOptions extends Omit<SpliceOptions, "backlog"> {
  readonly podUid: string;
  readonly namespace: string;
}

/** All connections that have been joined, so that they can be ended with their pod or with the router. */
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

  /** Settles when the joined connection has ended. */
  async join(caller: Duplex, sandbox: Duplex, { podUid, namespace, ...options }: JoinOptions): Promise<void> {
    for (const line of [caller, sandbox]) this.#backlog.assign(line, namespace);
    const splice = new Splice(caller, sandbox, { ...options, backlog: this.#backlog });
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

  /** Says goodbye to those that understand it. */
  leave(): void {
    this.#isLeaving = true;
    for (const joined of this.#byPod.values()) for (const splice of joined) splice.leave();
  }

  destroy(): void {
    for (const joined of this.#byPod.values()) for (const splice of joined) splice.destroy();
  }
}

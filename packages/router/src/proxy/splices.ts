import type { Duplex } from "node:stream";
import type { EarlyBytes } from "../request/early-bytes.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { Backlog } from "./backlog.ts";
import { Splice } from "./splice.ts";

/** The client's end of a splice: its stream, the bytes that it sent before the splice, and its log record. */
export interface SplicedClient {
  readonly stream: Duplex;
  readonly early: EarlyBytes;
  readonly record: AccessRecord;
}

export interface JoinOptions {
  readonly podUid: string;
  readonly namespace: string;
  readonly isWebSocket?: boolean;
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

  /** Sends the client's early bytes and copies in both directions. Resolves when the splice has ended. */
  async join({ stream, early, record }: SplicedClient, sandbox: Duplex, options: JoinOptions): Promise<void> {
    const { podUid, namespace, isWebSocket = false } = options;
    const sent = early.release();
    if (sent.length > 0) sandbox.write(sent);
    for (const end of [stream, sandbox]) this.#backlog.assign(end, namespace);
    const onBytes = (count: number): void => {
      record.bytesOut += count;
    };
    const splice = new Splice(stream, sandbox, { backlog: this.#backlog, onBytes, isWebSocket });
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

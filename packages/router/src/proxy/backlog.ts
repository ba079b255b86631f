import type { Duplex } from "node:stream";
import { KeyCounts } from "@agent-sandbox/kube";
import { abortStream } from "./stream-end.ts";

/**
 * Limits the bytes queued for receivers that do not read, over all streams. Each stream has a limit of its own as well.
 * When the total exceeds the limit, one stream is aborted: of the namespace with the most queued bytes, the one that has
 * been stalled for longest. So no number of clients can use up the memory. A receiver that reads, however slowly, counts
 * as stalled only since its last read.
 */
export class Backlog {
  readonly #maxBytes: number;
  /** The queued bytes of each stalled stream when it was last written to, the longest stalled first. */
  readonly #stalled = new Map<Duplex, Queued>();
  readonly #byNamespace = new KeyCounts();
  readonly #known = new WeakSet<Duplex>();
  readonly #namespaces = new WeakMap<Duplex, string>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#byNamespace.total;
  }

  /** Bytes written to the stream count towards this namespace from now on. */
  assign(stream: Duplex, namespace: string): void {
    this.#namespaces.set(stream, namespace);
  }

  /** Must be called after each write to a stream. */
  wrote(stream: Duplex): void {
    if (!stream.writableNeedDrain) return;
    this.#follow(stream);
    const namespace = this.#namespaces.get(stream) ?? "";
    const before = this.#stalled.get(stream);
    if (before !== undefined) this.#byNamespace.add(before.namespace, -before.bytes);
    this.#byNamespace.add(namespace, stream.writableLength);
    this.#stalled.set(stream, { namespace, bytes: stream.writableLength });
    while (this.bytes > this.#maxBytes) {
      const stalled = this.#oldestOf(this.#byNamespace.largest());
      if (stalled === undefined) return;
      this.#release(stalled);
      abortStream(stalled);
    }
  }

  #oldestOf(namespace: string | undefined): Duplex | undefined {
    for (const [stream, queued] of this.#stalled) if (queued.namespace === namespace) return stream;
    return undefined;
  }

  #follow(stream: Duplex): void {
    if (this.#known.has(stream)) return;
    this.#known.add(stream);
    const release = (): void => this.#release(stream);
    stream.on("drain", release);
    stream.on("close", release);
  }

  #release(stream: Duplex): void {
    const queued = this.#stalled.get(stream);
    if (queued === undefined) return;
    this.#byNamespace.add(queued.namespace, -queued.bytes);
    this.#stalled.delete(stream);
  }
}

interface Queued {
  readonly namespace: string;
  readonly bytes: number;
}

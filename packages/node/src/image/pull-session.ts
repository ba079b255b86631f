import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

export interface SessionLimits {
  /** All that the pull may receive. */
  readonly bytes: number;
  /** The pull is ended when it receives less than `leastBytes` in a span of this length. */
  readonly spanMs: number;
  readonly leastBytes: number;
}

/** The connections of one pull: what they carry is counted, and they end together. */
export class PullSession implements Disposable {
  /** Names the session to the proxy. */
  readonly id: string = randomBytes(16).toString("hex");
  readonly #limits: SessionLimits;
  readonly #stop = new AbortController();
  readonly #streams = new Set<Duplex>();
  readonly #timer: NodeJS.Timeout;
  readonly #onEnd: () => void;
  #received = 0;
  #atSpanStart = 0;

  constructor(limits: SessionLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#onEnd = onEnd;
    this.#timer = setInterval(() => this.#judge(), limits.spanMs).unref();
  }

  /** Aborted, with the reason, when the pull has broken a limit. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Counts what comes from a registry, and ends the connection with the session. */
  follow(stream: Duplex): void {
    if (this.signal.aborted) return void stream.destroy();
    this.#streams.add(stream);
    stream.on("data", (chunk: Buffer) => this.#count(chunk.length));
    stream.once("close", () => this.#streams.delete(stream));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.destroy();
    this.#onEnd();
  }

  #count(bytes: number): void {
    this.#received += bytes;
    if (this.#received > this.#limits.bytes) this.#end(`the registry sends more than ${this.#limits.bytes} bytes`);
  }

  #judge(): void {
    const received = this.#received - this.#atSpanStart;
    this.#atSpanStart = this.#received;
    const { spanMs, leastBytes } = this.#limits;
    if (received >= leastBytes) return;
    this.#end(
      `the registry is too slow: it sent ${received} bytes in ${spanMs / 1000} seconds, at least ${leastBytes} are needed`,
    );
  }

  #end(why: string): void {
    this.#stop.abort(new Error(why));
    for (const stream of this.#streams) stream.destroy();
  }
}

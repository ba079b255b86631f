import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";

export interface SessionLimits {
  /** The number of bytes the pull may receive. */
  readonly bytes: number;
  /** The pull is aborted if it receives less than `leastBytes` in an interval of this length. */
  readonly spanMs: number;
  readonly leastBytes: number;
}

/** The connections of one pull. Counts the bytes they receive, and closes all of them together. */
export class PullSession implements Disposable {
  /** The user name in the proxy credentials of the pull. */
  readonly id: string = randomBytes(16).toString("hex");
  readonly #limits: SessionLimits;
  readonly #stop = new AbortController();
  readonly #streams = new Set<Duplex>();
  readonly #timer: NodeJS.Timeout;
  readonly #onEnd: () => void;
  #received = 0;
  #trouble: string | undefined;
  #atSpanStart = 0;

  constructor(limits: SessionLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#onEnd = onEnd;
    this.#timer = setInterval(() => this.#judge(), limits.spanMs).unref();
  }

  /** Aborted, with the reason, when the pull exceeds a limit. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Why the last connection could not be made. The client of the proxy only gets the status 502. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Remembers the failure of a connection; a later connection that works makes it irrelevant. */
  noteFailure(error: unknown): void {
    const { code, name, message } = error as NodeJS.ErrnoException;
    this.#trouble = code ?? (name === "TimeoutError" ? name : message);
  }

  /** Counts the bytes from a connection, and closes it at the end of the session. */
  follow(stream: Duplex): void {
    if (this.signal.aborted) return void stream.destroy();
    this.#trouble = undefined;
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
      `the registry is too slow: it sent ${received} bytes in ${spanMs / 1000} seconds, less than the minimum of ${leastBytes}`,
    );
  }

  #end(why: string): void {
    this.#stop.abort(new Error(why));
    for (const stream of this.#streams) stream.destroy();
  }
}

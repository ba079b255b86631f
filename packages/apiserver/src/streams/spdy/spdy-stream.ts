import { Duplex } from "node:stream";
import { callbackify } from "node:util";
import type { Headers } from "./header-block.ts";

/** What a stream asks of its connection. */
export interface StreamLink {
  /** Resolves when the bytes have left for the network; rejects when they never will. */
  send(stream: SpdyStream, bytes: Buffer, fin: boolean): Promise<void>;
  /** The reader has taken this much. */
  taken(stream: SpdyStream, bytes: Buffer): void;
  /** The stream is over. `complete` says whether both sides ended it in order. */
  closed(stream: SpdyStream, complete: boolean): void;
}

export interface StreamOptions {
  readonly id: number;
  readonly headers: Headers;
  readonly link: StreamLink;
}

/** One stream of a SPDY connection. Destroying it resets it for the other side. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: Headers;
  readonly #link: StreamLink;
  /** What has come and does not fit into the readable side's own buffer. */
  readonly #inbox: Buffer[] = [];
  #ended = false;
  #isReset = false;

  constructor({ id, headers, link }: StreamOptions) {
    super({ highWaterMark: 64 * 1024 });
    this.id = id;
    this.headers = headers;
    this.#link = link;
    // The other side may reset a stream at any time; whoever uses it learns of it by its close.
    this.on("error", () => undefined);
  }

  /** Bytes from the other side. */
  receive(bytes: Buffer, fin: boolean): void {
    if (bytes.length > 0) this.#inbox.push(bytes);
    if (fin) this.#ended = true;
    if (this.readableLength < this.readableHighWaterMark) this.#deliver();
  }

  /** Whether the other side has said that nothing more comes. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** The other side wants no more of it. */
  reset(): void {
    this.#isReset = true;
    this.destroy();
  }

  override _read(): void {
    this.#deliver();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    callbackify(() => this.#link.send(this, chunk, false))(done);
  }

  override _final(done: (error?: Error | null) => void): void {
    callbackify(() => this.#link.send(this, Buffer.alloc(0), true))(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const bytes of this.#inbox.splice(0)) this.#link.taken(this, bytes);
    const complete = this.#isReset || (this.#ended && this.writableFinished);
    this.#link.closed(this, complete);
    done(error);
  }

  #deliver(): void {
    for (let bytes = this.#inbox.shift(); bytes !== undefined; bytes = this.#inbox.shift()) {
      const more = this.push(bytes);
      this.#link.taken(this, bytes);
      if (!more) return;
    }
    if (this.#ended && !this.readableEnded) this.push(null);
  }
}

import { Duplex } from "node:stream";
import { callbackify } from "node:util";
import type { Headers } from "./header-block.ts";

/** The connection as a stream uses it. */
export interface StreamLink {
  /** Resolves when the bytes were written to the network; rejects when the stream or connection has ended. */
  send(stream: SpdyStream, bytes: Buffer, fin: boolean): Promise<void>;
  /** Reports bytes that the reader has consumed. */
  taken(stream: SpdyStream, bytes: Buffer): void;
  /** Reports that the stream has ended. `complete`: both sides ended it regularly. */
  closed(stream: SpdyStream, complete: boolean): void;
}

export interface StreamOptions {
  readonly id: number;
  readonly headers: Headers;
  readonly link: StreamLink;
}

/** One stream of a SPDY connection. Destroying it sends a reset. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: Headers;
  readonly #link: StreamLink;
  /** Received data that does not fit into the buffer of the readable side. */
  readonly #inbox: Buffer[] = [];
  #ended = false;
  #isReset = false;

  constructor({ id, headers, link }: StreamOptions) {
    super({ highWaterMark: 64 * 1024 });
    this.id = id;
    this.headers = headers;
    this.#link = link;
    // The peer may reset a stream at any time. Users of the stream are notified by its close event.
    this.on("error", () => undefined);
  }

  /** Receives bytes from the peer. */
  receive(bytes: Buffer, fin: boolean): void {
    if (bytes.length > 0) this.#inbox.push(bytes);
    if (fin) this.#ended = true;
    if (this.readableLength < this.readableHighWaterMark) this.#deliver();
  }

  /** Whether the peer has ended its side. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** The peer has reset the stream. */
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

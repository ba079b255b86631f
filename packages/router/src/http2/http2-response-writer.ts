import type { OutgoingHttpHeaders, ServerHttp2Stream, ServerStreamResponseOptions } from "node:http2";
import type { Backlog } from "../proxy/backlog.ts";
import { forHttp2 } from "../proxy/response-head.ts";
import { abortStream } from "../proxy/stream-end.ts";
import type { ResponseStart, ResponseWriter } from "../request/response-writer.ts";

/** The sandbox sets the Date header. The option exists in Node but not in its types. */
const noDate = { sendDate: false } as ServerStreamResponseOptions;

export interface Http2ResponseWriterOptions {
  readonly backlog: Backlog;
  /** Called once, when the whole response was written to the stream. */
  readonly onEnd?: () => void;
}

/** Writes a response to an HTTP/2 stream. */
export class Http2ResponseWriter implements ResponseWriter {
  onDrain: (() => void) | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #options: Http2ResponseWriterOptions;
  #added: readonly string[] = [];

  constructor(stream: ServerHttp2Stream, options: Http2ResponseWriterOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on("drain", () => this.onDrain?.());
  }

  get hasBegun(): boolean {
    return this.#stream.headersSent;
  }

  assign(namespace: string): void {
    this.#options.backlog.assign(this.#stream, namespace);
  }

  addHeaders(headers: readonly string[]): void {
    this.#added = [...this.#added, ...headers];
  }

  begin({ status, headers }: ResponseStart): void {
    if (this.#isGone) return;
    this.#stream.respond({ ...forHttp2([...headers, ...this.#added]), ":status": status }, noDate);
  }

  /** Begins a response that must be ended with `endWith`. */
  beginWithTrailers(headers: OutgoingHttpHeaders): void {
    if (!this.#isGone) this.#stream.respond(headers, { ...noDate, waitForTrailers: true });
  }

  write(chunk: Buffer): boolean {
    const hasRoom = this.#isGone || this.#stream.write(chunk);
    this.#options.backlog.wrote(this.#stream);
    return hasRoom;
  }

  /** Nothing is buffered here. */
  flush(): void {}

  end(): void {
    const stream = this.#stream;
    // The client may still send a body that nobody reads, which would keep the stream open. It is closed after the response.
    if (!stream.endAfterHeaders) stream.once("finish", () => setImmediate(() => stream.close()));
    this.#end();
  }

  endWith(trailers: OutgoingHttpHeaders): void {
    // Node's compatibility layer would send the trailers of its own response object, which has none.
    this.#stream.removeAllListeners("wantTrailers").once("wantTrailers", () => {
      try {
        this.#stream.sendTrailers(trailers);
      } catch {
        // Without trailers the response would look complete.
        this.destroy();
      }
    });
    this.#end();
  }

  destroy(): void {
    abortStream(this.#stream);
  }

  #end(): void {
    if (!this.#isGone) this.#stream.end();
    this.#options.onEnd?.();
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }
}

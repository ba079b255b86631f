import type { OutgoingHttpHeaders, ServerHttp2Stream, ServerStreamResponseOptions } from "node:http2";
import type { Answer, AnswerHead } from "./answer.ts";
import type { Backlog } from "./backlog.ts";
import { breakOff } from "./line.ts";
import { forHttp2 } from "./response-head.ts";

/** The date is the sandbox's to tell. Node's own layer above passes this option too; its types do not know it. */
const noDate = { sendDate: false } as ServerStreamResponseOptions;

export interface Http2AnswerOptions {
  readonly backlog: Backlog;
  /** Told once, when all of it was given to the stream. */
  readonly onEnd?: () => void;
}

/** An answer over one stream of an HTTP/2 connection. */
export class Http2Answer implements Answer {
  onDrain: (() => void) | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #options: Http2AnswerOptions;

  constructor(stream: ServerHttp2Stream, options: Http2AnswerOptions) {
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

  begin({ status, headers }: AnswerHead): void {
    if (this.#isGone) return;
    this.#stream.respond({ ...forHttp2(headers), ":status": status }, noDate);
  }

  /** Begins an answer that `endWith` will end; `headers` are as HTTP/2 has them. */
  beginWithTrailers(headers: OutgoingHttpHeaders): void {
    if (!this.#isGone) this.#stream.respond(headers, { ...noDate, waitForTrailers: true });
  }

  write(chunk: Buffer): boolean {
    const hasRoom = this.#isGone || this.#stream.write(chunk);
    this.#options.backlog.wrote(this.#stream);
    return hasRoom;
  }

  /** The head goes out with `begin`, and nothing is gathered. */
  flush(): void {}

  end(): void {
    const stream = this.#stream;
    // Who has its answer may still be sending: nobody wants to hear it, and the stream would last as long. The answer goes first.
    if (!stream.endAfterHeaders) stream.once("finish", () => setImmediate(() => stream.close()));
    this.#end();
  }

  endWith(trailers: OutgoingHttpHeaders): void {
    // Node's compatibility layer would send those of its own response, which has none.
    this.#stream.removeAllListeners("wantTrailers").once("wantTrailers", () => {
      try {
        this.#stream.sendTrailers(trailers);
      } catch {
        // Without its trailers the answer would look whole.
        this.destroy();
      }
    });
    this.#end();
  }

  destroy(): void {
    breakOff(this.#stream);
  }

  #end(): void {
    if (!this.#isGone) this.#stream.end();
    this.#options.onEnd?.();
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }
}

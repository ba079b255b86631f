import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Backlog } from "./backlog.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import type { Channel } from "./channel.ts";
import { Http2Answer } from "./http2-answer.ts";
import type { Incoming } from "./incoming.ts";
import { BodyCutOff, type BodySink, type RequestBody } from "./request-body.ts";

export interface Http2Pair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly channel: Channel;
  readonly backlog: Backlog;
  /** Whether the caller waits to be told to send its body. */
  readonly expectsContinue: boolean;
}

const ignore = (): void => undefined;

/** A request by HTTP/2, in the form that all requests have here. */
export function http2Incoming({ request, response, channel, backlog, expectsContinue }: Http2Pair): Incoming {
  const cancellation = new Cancellation();
  // A caller that breaks off is noticed by the close that follows.
  response.on("error", ignore);
  request.on("error", ignore);
  const { stream } = request as unknown as Http2ServerRequest;
  let isAnswered = false;
  stream.on("close", () => {
    // A stream that the caller broke off counts as finished as well.
    if (!isAnswered) cancellation.cancel(new CallerGone());
  });
  const { method = "", url = "", rawHeaders } = request;
  // HTTP/2 says with the headers whether a body follows.
  const hasBody = !stream.endAfterHeaders;
  const body = hasBody ? new Http2Body(request, () => expectsContinue && response.writeContinue()) : undefined;
  const onEnd = (): void => {
    isAnswered = true;
  };
  const answer = new Http2Answer(stream, { backlog, onEnd });
  const http2 = { request, answer };
  return { method, url, rawHeaders, channel, needsHost: false, body, answer, cancellation, http2 };
}

class Http2Body implements RequestBody {
  readonly length: number | undefined;
  readonly #request: IncomingMessage;
  readonly #onStart: () => void;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  #sink: BodySink | undefined;
  #bytes = 0;

  constructor(request: IncomingMessage, onStart: () => void) {
    const announced = request.headers["content-length"];
    this.length = announced !== undefined && /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
    this.#request = request;
    this.#onStart = onStart;
    this.#listeners = [
      ["data", (chunk) => this.#take(chunk)],
      ["end", () => this.#end()],
      ["error", () => this.#fail()],
      ["close", () => this.#fail()],
    ];
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    this.#onStart();
    for (const [event, listener] of this.#listeners) this.#request.on(event, listener);
  }

  pause(): void {
    this.#request.pause();
  }

  resume(): void {
    this.#request.resume();
  }

  abandon(): void {
    this.#sink = undefined;
    for (const [event, listener] of this.#listeners) this.#request.off(event, listener);
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    // The sandbox would take what is too much for the next request.
    if (this.length !== undefined && this.#bytes > this.length) this.#fail();
    else this.#sink?.onBody(chunk);
  }

  #end(): void {
    if (this.length !== undefined && this.#bytes < this.length) return this.#fail();
    const sink = this.#sink;
    this.abandon();
    sink?.onBodyEnd();
  }

  #fail(): void {
    const sink = this.#sink;
    this.abandon();
    sink?.onBodyError(new BodyCutOff());
  }
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Answer, AnswerHead } from "./answer.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import type { Channel } from "./channel.ts";
import type { Incoming } from "./incoming.ts";
import { BodyCutOff, type BodySink, type RequestBody } from "./request-body.ts";
import { forHttp2 } from "./response-head.ts";

export interface Http2Pair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly channel: Channel;
  /** Whether the caller waits to be told to send its body. */
  readonly expectsContinue: boolean;
}

const ignore = (): void => undefined;

/** A request by HTTP/2, in the form that all requests have here. */
export function http2Incoming({ request, response, channel, expectsContinue }: Http2Pair): Incoming {
  const cancellation = new Cancellation();
  // A caller that breaks off is noticed by the close that follows.
  response.on("error", ignore);
  request.on("error", ignore);
  response.on("close", () => {
    // By HTTP/2 an answer counts as finished as soon as it is over, also when the caller broke it off.
    if (!response.writableEnded) cancellation.cancel(new CallerGone());
  });
  response.sendDate = false;
  const { method = "", url = "", rawHeaders } = request;
  // HTTP/2 says with the headers whether a body follows.
  const hasBody = !(request as unknown as Http2ServerRequest).stream.endAfterHeaders;
  const body = hasBody ? new Http2Body(request, () => expectsContinue && response.writeContinue()) : undefined;
  const answer = new Http2Answer(response);
  const http2 = { request, response };
  return { method, url, rawHeaders, channel, needsHost: false, body, answer, cancellation, http2 };
}

class Http2Answer implements Answer {
  onDrain: (() => void) | undefined;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on("drain", () => this.onDrain?.());
  }

  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  begin({ status, headers }: AnswerHead): void {
    this.#response.writeHead(status, forHttp2(headers));
  }

  write(chunk: Buffer): boolean {
    return this.#response.write(chunk);
  }

  flush(): void {
    if (!this.#response.destroyed) this.#response.flushHeaders();
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }
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

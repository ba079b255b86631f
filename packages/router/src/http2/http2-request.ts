import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { ConnectionInfo } from "../listen/connection-info.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { Cancellation, ClientDisconnected } from "../request/cancellation.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { BodyCutOff, type BodySink, type RequestBody } from "../request/request-body.ts";
import { Http2ResponseWriter } from "./http2-response-writer.ts";

export interface Http2RequestOptions {
  readonly request: IncomingMessage;
  /** Node's response object. It is only used to send `100 Continue`. */
  readonly nodeResponse: ServerResponse;
  readonly connectionInfo: ConnectionInfo;
  readonly backlog: Backlog;
  readonly expectsContinue: boolean;
}

const ignore = (): void => undefined;

/** An HTTP/2 request in the form that all requests have in the router. */
export function http2Request(options: Http2RequestOptions): ClientRequest {
  const { request, nodeResponse, connectionInfo, backlog, expectsContinue } = options;
  const cancellation = new Cancellation();
  // After an error the stream is closed, and that is handled below.
  nodeResponse.on("error", ignore);
  request.on("error", ignore);
  const { stream } = request as unknown as Http2ServerRequest;
  let hasEnded = false;
  stream.on("close", () => {
    // Node also reports a stream as finished if the client has reset it, so that cannot be used here.
    if (!hasEnded) cancellation.cancel(new ClientDisconnected());
  });
  const { method = "", url = "", rawHeaders } = request;
  const hasBody = !stream.endAfterHeaders;
  const body = hasBody ? new Http2Body(request, () => expectsContinue && nodeResponse.writeContinue()) : undefined;
  const onEnd = (): void => {
    hasEnded = true;
  };
  const response = new Http2ResponseWriter(stream, { backlog, onEnd });
  const http2 = { request, response };
  return { method, url, rawHeaders, connectionInfo, needsHost: false, body, response, cancellation, http2 };
}

class Http2Body implements RequestBody {
  readonly length: number | undefined;
  readonly #request: IncomingMessage;
  readonly #onStart: () => void;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  #sink: BodySink | undefined;
  #bytes = 0;

  constructor(request: IncomingMessage, onStart: () => void) {
    const contentLength = request.headers["content-length"];
    this.length = contentLength !== undefined && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined;
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
    // The sandbox would read bytes beyond Content-Length as the next request.
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

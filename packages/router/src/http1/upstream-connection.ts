import type { Socket } from "node:net";
import type { Backlog } from "../proxy/backlog.ts";
import type { BodySink, RequestBody } from "../request/request-body.ts";
import { maxQueuedBytes, type ResponseBody } from "../request/response-writer.ts";
import { BodyReader } from "./body-reader.ts";
import { formatRequestHead } from "./format-request-head.ts";
import { HeadReader } from "./head-reader.ts";
import { mayBecomeResponse, parseResponseHead, type ResponseHeadText } from "./parse-head.ts";
import { sendChunk } from "./send-chunk.ts";
import { readTransportHeaders, type TransportHeaders } from "./transport-headers.ts";

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values alternate, without headers about the connection or the length. */
  readonly headers: readonly string[];
  readonly body: RequestBody | undefined;
  /** Whether the client sent `Content-Length: 0`. */
  readonly isEmpty?: boolean;
  /** The protocol to switch to. */
  readonly upgrade?: string;
}

/** Receives a response. `onEnd`, `onError` or `onUpgrade` is the last call. */
export interface ResponseHandler {
  onHead(head: ResponseHeadText, body: ResponseBody): void;
  onData(chunk: Buffer): void;
  /** Called when all bytes received so far have been delivered. */
  onBatchEnd(): void;
  onEnd(): void;
  onError(error: Error): void;
  /** The sandbox switched protocols. The socket is paused and belongs to the handler. Without it, a 101 response is an error. */
  readonly onUpgrade?: ((head: ResponseHeadText, socket: Socket) => void) | undefined;
}

export interface UpstreamConnectionOptions {
  /** The Host header. */
  readonly host: string;
  readonly maxHeaderBytes: number;
  readonly backlog: Backlog;
  /** Called when the connection can be reused, within `idleMs`. */
  readonly onFree: (idleMs: number) => void;
  readonly onClosed: () => void;
}

/** Many servers close idle connections after five seconds. The router closes them before that. */
const idleMs = 4000;
/** How long before the time in the server's `Keep-Alive` header the router closes a connection. */
const hintMarginMs = 1000;

/** An HTTP/1.1 connection to a sandbox, for one request at a time. */
export class UpstreamConnection implements BodySink {
  readonly #socket: Socket;
  readonly #options: UpstreamConnectionOptions;
  readonly #head: HeadReader;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  readonly #deliver = (data: Buffer): void => this.#handler?.onData(data);
  #handler: ResponseHandler | undefined;
  #request: UpstreamRequest | undefined;
  /** The response's body. Undefined until its head is complete. */
  #responseBody: BodyReader | undefined;
  #idleMs = idleMs;
  #isSent = true;
  #isOpen = true;
  /** Buffered part of the request. Each character is one byte. */
  #text = "";

  constructor(socket: Socket, options: UpstreamConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#head = new HeadReader({ maxBytes: options.maxHeaderBytes, mayBecomeHead: mayBecomeResponse });
    this.#listeners = [
      ["data", (chunk) => this.#onData(chunk)],
      ["end", () => this.#ended()],
      ["close", () => this.#fail(new Error("Cannot read the response: the connection was closed"))],
      ["drain", () => this.#request?.body?.resume()],
    ];
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    socket.on("error", (error) => this.#fail(error));
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed && this.#socket.readable && this.#socket.writable;
  }

  /** Sends a request. The connection must be free. */
  send(request: UpstreamRequest, handler: ResponseHandler): void {
    this.#handler = handler;
    this.#request = request;
    this.#responseBody = undefined;
    this.#isSent = request.body === undefined;
    this.#text = formatRequestHead(request, this.#options.host);
    request.body?.start(this);
    this.#flush();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes the connection, because the rest of the response would be read as the next one. */
  destroy(reason: Error = new Error("Cannot read the response: the connection was abandoned")): void {
    this.#fail(reason);
  }

  onBody(chunk: Buffer): void {
    const { body } = this.#request ?? {};
    const isChunked = body?.length === undefined;
    if (isChunked) this.#text += `${chunk.length.toString(16)}\r\n`;
    this.#socket.cork();
    this.#flush();
    sendChunk(this.#socket, chunk);
    if (isChunked) this.#socket.write("\r\n", "latin1");
    this.#socket.uncork();
    this.#options.backlog.wrote(this.#socket);
    if (this.#socket.writableLength >= maxQueuedBytes) body?.pause();
  }

  onBodyEnd(): void {
    this.#isSent = true;
    if (this.#request?.body?.length === undefined) this.#text += "0\r\n\r\n";
    this.#flush();
  }

  onBodyError(error: Error): void {
    this.#fail(error);
  }

  #flush(): void {
    if (this.#text === "") return;
    this.#socket.write(this.#text, "latin1");
    this.#text = "";
  }

  #onData(chunk: Buffer): void {
    // Bytes without a request must not be read as the response to the next one.
    if (this.#handler === undefined) return this.#close();
    try {
      this.#read(chunk);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #read(chunk: Buffer): void {
    let at = 0;
    while (this.#responseBody === undefined) {
      const progress = this.#head.take(chunk, at);
      if (progress === "more") return;
      if (progress !== "whole") throw new Error(`Cannot read the response: its head is ${progress}`);
      at = this.#head.end;
      if (this.#takeHead(this.#head.text, chunk, at)) return;
      if (this.#responseBody === undefined && at === chunk.length) return;
    }
    at = this.#responseBody.take(chunk, at, this.#deliver);
    // The handler may have closed the connection.
    if (this.#handler === undefined) return;
    if (this.#responseBody.isWhole) this.#finish(at === chunk.length);
    else this.#handler.onBatchEnd();
  }

  /** Returns true if the connection was handed over to an upgrade. */
  #takeHead(text: string, chunk: Buffer, end: number): boolean {
    const head = parseResponseHead(text);
    if ("error" in head) throw new Error(`Cannot read the response: its head is ${head.error}`);
    const { status } = head;
    if (status === 101) return this.#switch(head, chunk.subarray(end));
    // Interim responses are not relayed.
    if (status < 200) return false;
    const transport = readTransportHeaders(head.rawHeaders);
    if ("error" in transport) throw new Error(`Cannot read the response: ${transport.error}`);
    this.#idleMs = reuseMs(head, transport);
    const isBodiless = this.#request?.method === "HEAD" || status === 204 || status === 304;
    const framing = transport.isChunked ? "chunked" : (transport.length ?? "until closed");
    this.#responseBody = new BodyReader(isBodiless ? 0 : framing);
    if (!isBodiless && framing === "until closed") this.#idleMs = 0;
    this.#handler?.onHead(head, isBodiless ? "none" : typeof framing === "number" ? "sized" : "open");
    return false;
  }

  #switch(head: ResponseHeadText, early: Buffer): boolean {
    const handler = this.#handler;
    if (handler?.onUpgrade === undefined)
      throw new Error("Cannot read the response: it switches protocols without a request");
    this.#handler = undefined;
    this.#request = undefined;
    this.#isOpen = false;
    this.#options.onClosed();
    for (const [event, listener] of this.#listeners) this.#socket.off(event, listener);
    this.#socket.pause();
    if (early.length > 0) this.#socket.unshift(early);
    handler.onUpgrade(head, this.#socket);
    return true;
  }

  #finish(isAll: boolean): void {
    const [handler, body] = [this.#handler, this.#request?.body];
    this.#handler = undefined;
    this.#request = undefined;
    if (this.#isSent && isAll && this.#idleMs > 0) this.#options.onFree(this.#idleMs);
    else this.#close();
    handler?.onEnd();
    body?.abandon();
  }

  #ended(): void {
    if (this.#handler !== undefined && this.#responseBody?.mayEndHere === true) this.#finish(true);
    else this.#fail(new Error("Cannot read the response: the connection ended before it was complete"));
  }

  #fail(error: Error): void {
    const [handler, body] = [this.#handler, this.#request?.body];
    this.#handler = undefined;
    this.#request = undefined;
    this.#close();
    handler?.onError(error);
    body?.abandon();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.onClosed();
    this.#socket.destroy();
  }
}

/** How long the connection may be idle before it is reused. 0: it must not be reused. */
function reuseMs({ minorVersion }: ResponseHeadText, { connection, keepAliveSeconds }: TransportHeaders): number {
  const isKept = minorVersion === 1 ? !connection.includes("close") : connection.includes("keep-alive");
  if (!isKept) return 0;
  return keepAliveSeconds === undefined ? idleMs : Math.min(idleMs, keepAliveSeconds * 1000 - hintMarginMs);
}

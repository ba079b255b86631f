import type { Socket } from "node:net";
import { type AnswerBody, mostQueuedBytes } from "../proxy/answer.ts";
import type { Backlog } from "../proxy/backlog.ts";
import type { BodySink, RequestBody } from "../proxy/request-body.ts";
import { BodyReader } from "./body-reader.ts";
import { formatRequestHead } from "./format-request-head.ts";
import { HeadReader } from "./head-reader.ts";
import { mayBecomeResponse, parseResponseHead, type ResponseHeadText } from "./parse-head.ts";
import { sendChunk } from "./send-chunk.ts";
import { readTransportHeaders, type TransportHeaders } from "./transport-headers.ts";

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn, none of them about the connection or the body's length. */
  readonly headers: readonly string[];
  readonly body: RequestBody | undefined;
  /** Whether a body of no bytes was announced. */
  readonly isEmpty?: boolean;
  /** What to speak instead, if the sandbox agrees. */
  readonly upgrade?: string;
}

/** Hears the answer. After `onEnd`, `onError` or `onUpgrade` it hears no more. */
export interface ResponseHandler {
  onHead(head: ResponseHeadText, body: AnswerBody): void;
  onData(chunk: Buffer): void;
  /** All that has arrived so far was told. */
  onBatchEnd(): void;
  onEnd(): void;
  onError(error: Error): void;
  /** The sandbox agreed: the connection is the handler's, paused. Without this no other protocol will do. */
  readonly onUpgrade?: ((head: ResponseHeadText, socket: Socket) => void) | undefined;
}

export interface UpstreamConnectionOptions {
  /** For the Host header. */
  readonly host: string;
  readonly maxHeaderBytes: number;
  readonly backlog: Backlog;
  /** It can be used again, for so long. */
  readonly onFree: (idleMs: number) => void;
  readonly onClosed: () => void;
}

/** Servers without a hint of their own often close after five seconds: leave before they do. */
const idleMs = 4000;
/** And this long before the time that they tell. */
const hintMarginMs = 1000;

/** HTTP/1.1 with one sandbox: one request after the other. */
export class UpstreamConnection implements BodySink {
  readonly #socket: Socket;
  readonly #options: UpstreamConnectionOptions;
  readonly #head: HeadReader;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  readonly #deliver = (data: Buffer): void => this.#handler?.onData(data);
  #handler: ResponseHandler | undefined;
  #request: UpstreamRequest | undefined;
  /** Of the answer; absent until its head is known. */
  #answer: BodyReader | undefined;
  #idleMs = idleMs;
  #isSent = true;
  #isOpen = true;
  /** Of the request: said and not sent yet. Each character is one byte. */
  #text = "";

  constructor(socket: Socket, options: UpstreamConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#head = new HeadReader({ mostBytes: options.maxHeaderBytes, mayBecomeHead: mayBecomeResponse });
    this.#listeners = [
      ["data", (chunk) => this.#arrived(chunk)],
      ["end", () => this.#ended()],
      ["close", () => this.#fail(new Error("Cannot read the answer: the connection was closed"))],
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
    this.#answer = undefined;
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

  /** Closes it: nobody knows what is still to come. */
  destroy(reason: Error = new Error("Cannot read the answer: the connection was given up")): void {
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
    if (this.#socket.writableLength >= mostQueuedBytes) body?.pause();
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

  #arrived(chunk: Buffer): void {
    // What comes unasked answers no request, and must not be taken for the answer to the next.
    if (this.#handler === undefined) return this.#close();
    try {
      this.#read(chunk);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #read(chunk: Buffer): void {
    let at = 0;
    while (this.#answer === undefined) {
      const progress = this.#head.take(chunk, at);
      if (progress === "more") return;
      if (progress !== "whole") throw new Error(`Cannot read the answer: its head is ${progress}`);
      at = this.#head.end;
      if (this.#takeHead(this.#head.text, chunk, at)) return;
      if (this.#answer === undefined && at === chunk.length) return;
    }
    at = this.#answer.take(chunk, at, this.#deliver);
    // Whoever took it may have had enough.
    if (this.#handler === undefined) return;
    if (this.#answer.isWhole) this.#finish(at === chunk.length);
    else this.#handler.onBatchEnd();
  }

  /** True when the connection is somebody else's now. */
  #takeHead(text: string, chunk: Buffer, end: number): boolean {
    const head = parseResponseHead(text);
    if ("error" in head) throw new Error(`Cannot read the answer: its head is ${head.error}`);
    const { status } = head;
    if (status === 101) return this.#switch(head, chunk.subarray(end));
    // What announces the answer is between the sandbox and the router.
    if (status < 200) return false;
    const transport = readTransportHeaders(head.rawHeaders);
    if ("error" in transport) throw new Error(`Cannot read the answer: ${transport.error}`);
    this.#idleMs = reuseMs(head, transport);
    const isBodiless = this.#request?.method === "HEAD" || status === 204 || status === 304;
    const framing = transport.isChunked ? "chunked" : (transport.length ?? "until closed");
    this.#answer = new BodyReader(isBodiless ? 0 : framing);
    if (!isBodiless && framing === "until closed") this.#idleMs = 0;
    this.#handler?.onHead(head, isBodiless ? "none" : typeof framing === "number" ? "sized" : "open");
    return false;
  }

  #switch(head: ResponseHeadText, early: Buffer): boolean {
    const handler = this.#handler;
    if (handler?.onUpgrade === undefined) throw new Error("Cannot read the answer: it switches protocols unasked");
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
    if (this.#handler !== undefined && this.#answer?.mayEndHere === true) this.#finish(true);
    else this.#fail(new Error("Cannot read the answer: the connection ended before it was whole"));
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

/** How long it may lie idle before it is used again; 0: not at all. */
function reuseMs({ minorVersion }: ResponseHeadText, { connection, keepAliveSeconds }: TransportHeaders): number {
  const isKept = minorVersion === 1 ? !connection.includes("close") : connection.includes("keep-alive");
  if (!isKept) return 0;
  return keepAliveSeconds === undefined ? idleMs : Math.min(idleMs, keepAliveSeconds * 1000 - hintMarginMs);
}

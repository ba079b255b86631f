import type { Deadlines, Timed } from "../deadlines.ts";
import type { ConnectionInfo } from "../listen/connection-info.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { Cancellation, ClientDisconnected } from "../request/cancellation.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { errorBytes } from "../request/send-error.ts";
import { type RouterError, requestTimeout } from "../router-error.ts";
import { ClientBody } from "./client-body.ts";
import type { ClientSocket } from "./client-socket.ts";
import { HeadReader } from "./head-reader.ts";
import { Http1ResponseWriter } from "./http1-response-writer.ts";
import { http1Upgrade } from "./http1-upgrade.ts";
import { mayBecomeRequest, type RequestHeadText } from "./parse-head.ts";
import { notHttp, type PlainRequest, readRequest, tooLarge } from "./read-request.ts";
import type { TransportHeaders } from "./transport-headers.ts";

export interface ClientConnectionOptions {
  readonly connectionInfo: ConnectionInfo;
  readonly onRequest: (client: ClientRequest) => void;
  readonly deadlines: Deadlines;
  readonly backlog: Backlog;
  readonly maxHeaderBytes: number;
  /** How long a client may take to send a request's head. */
  readonly headMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
  /** Called when the connection is closed or handed over to an upgrade. */
  readonly onGone: (connection: ClientConnection) => void;
}

interface Serving {
  readonly response: Http1ResponseWriter;
  readonly body: ClientBody | undefined;
  readonly cancellation: Cancellation;
}

/**
 * - `reading`: waits for the head of a request.
 * - `serving`: the response to a request has not ended yet.
 * - `discarding`: the response has ended before the request's body, the rest of which is dropped.
 * - `closing`: the last response was sent. Input is dropped until the client closes the connection.
 */
type Phase = "reading" | "serving" | "discarding" | "closing";

/** What a client may send ahead of being read: one read of a socket. */
const maxAheadBytes = 64 * 1024;
/** How long a client may take to read its last response. Closing at once could reset the connection before it has. */
const lingerMs = 10_000;
const nothing = Buffer.alloc(0);

/** An HTTP/1.1 connection of a client. Reads its requests strictly, one after the other. */
export class ClientConnection implements Timed {
  deadlineMs: number;
  readonly #socket: ClientSocket;
  readonly #options: ClientConnectionOptions;
  readonly #connectionInfo: ConnectionInfo;
  readonly #head: HeadReader;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  #phase: Phase = "reading";
  #serving: Serving | undefined;
  #discarded: ClientBody | undefined;
  /** Bytes received and not parsed yet. */
  #rest: Buffer | undefined;
  #hasHeadBegun = true;
  #isStepping = false;
  #isBroken = false;
  #isDraining = false;

  constructor(socket: ClientSocket, options: ClientConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#connectionInfo = options.connectionInfo;
    this.#head = new HeadReader({ maxBytes: options.maxHeaderBytes, mayBecomeHead: mayBecomeRequest });
    this.deadlineMs = options.deadlines.after(options.headMs);
    options.deadlines.watch(this);
    this.#listeners = [
      ["data", (chunk) => this.#onData(chunk)],
      ["end", () => this.#ended()],
      ["close", () => this.#closed()],
      ["drain", () => this.#drained()],
    ];
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    socket.resume();
  }

  /** Closes the connection as soon as no request is in progress. */
  drain(): void {
    this.#isDraining = true;
    this.#serving?.response.beLast();
    if (this.#phase === "reading" && !this.#head.hasBegun) this.#close();
  }

  onDeadline(): void {
    if (this.#phase === "reading" && this.#hasHeadBegun && this.#head.hasBegun) {
      this.#refuse(requestTimeout());
    } else {
      this.#socket.destroy();
    }
  }

  #onData(chunk: Buffer): void {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#advance();
  }

  /** Parses the buffered bytes until more are needed or the reader of the body has paused. */
  #advance(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    while (this.#rest !== undefined && this.#step(this.#rest));
    this.#isStepping = false;
  }

  /** Returns whether another step may make progress. */
  #step(bytes: Buffer): boolean {
    if (this.#phase === "reading") return this.#hasRoom() && this.#readHead(bytes);
    if (this.#phase === "closing") {
      this.#rest = undefined;
      return false;
    }
    const body = this.#serving?.body ?? this.#discarded;
    if (body !== undefined && !body.isWhole && body.wantsBytes) return this.#readBody(body, bytes);
    if (bytes.length >= maxAheadBytes) this.#socket.pause();
    return false;
  }

  /** A client that does not read its responses gets no further requests read: small responses would pile up. */
  #hasRoom(): boolean {
    const hasRoom = !this.#socket.writableNeedDrain;
    if (!hasRoom) this.#socket.pause();
    return hasRoom;
  }

  #drained(): void {
    this.#serving?.response.onDrain?.();
    if (this.#phase === "reading") this.#continueReading();
  }

  #readHead(bytes: Buffer): boolean {
    const progress = this.#head.take(bytes, 0);
    if (progress === "whole") {
      const { text, end } = this.#head;
      this.#rest = end < bytes.length ? bytes.subarray(end) : undefined;
      this.#hasHeadBegun = false;
      this.#begin(text);
      return true;
    }
    this.#rest = undefined;
    if (progress !== "more") this.#refuse(progress === "malformed" ? notHttp() : tooLarge());
    else if (!this.#hasHeadBegun) {
      this.#hasHeadBegun = true;
      this.deadlineMs = this.#options.deadlines.after(this.#options.headMs);
    }
    return false;
  }

  #readBody(body: ClientBody, bytes: Buffer): boolean {
    try {
      const end = body.take(bytes, 0);
      this.#rest = end < bytes.length ? bytes.subarray(end) : undefined;
    } catch {
      // It is unknown where the next request begins, so nothing more can be read.
      this.#isBroken = true;
      this.#rest = undefined;
      if (this.#phase === "discarding") this.#close();
      else {
        this.#serving?.response.beLast();
        body.fail(notHttp());
      }
      return false;
    }
    if (this.#phase === "discarding" && body.isWhole) this.#await();
    return true;
  }

  #begin(text: string): void {
    const asked = readRequest(text);
    if ("error" in asked) this.#refuse(asked.error);
    else if ("handOver" in asked) this.#handOver(asked.head, asked.handOver.protocol);
    else this.#serve(asked);
  }

  #serve({ head, transport, hasBody, waits }: PlainRequest): void {
    const { method, target, minorVersion, rawHeaders } = head;
    const isLast = this.#isDraining || minorVersion === 0 || transport.connection.includes("close");
    const { backlog } = this.#options;
    const onEnd = this.#responseEnded;
    const response = new Http1ResponseWriter(this.#socket, { minorVersion, isLast, backlog, onEnd });
    const body = hasBody ? this.#bodyOf(transport, response, waits) : undefined;
    const cancellation = new Cancellation();
    this.#serving = { response, body, cancellation };
    this.#phase = "serving";
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#options.onRequest({
      method,
      url: target,
      rawHeaders,
      connectionInfo: this.#connectionInfo,
      needsHost: minorVersion === 1,
      body,
      response,
      cancellation,
    });
  }

  #bodyOf({ length, isChunked }: TransportHeaders, response: Http1ResponseWriter, waits: boolean): ClientBody {
    const body: ClientBody = new ClientBody(isChunked ? "chunked" : (length ?? 0), {
      onStart: () => {
        if (waits && this.#rest === undefined) response.continue();
        this.#continueReading();
      },
      onPause: () => this.#socket.pause(),
      onResume: () => this.#continueReading(),
      onAbandon: () => {
        this.#continueReading();
        // Announces the close, so that the client can stop sending the rest.
        if (!body.isWhole) response.beLast();
      },
    });
    return body;
  }

  #continueReading(): void {
    this.#advance();
    if (!this.#socket.destroyed) this.#socket.resume();
  }

  readonly #responseEnded = (isLast: boolean): void => {
    const body = this.#serving?.body;
    this.#serving = undefined;
    if (isLast || this.#isBroken || this.#isDraining) return this.#close();
    if (body === undefined || body.isWhole) return this.#await();
    this.#phase = "discarding";
    this.#discarded = body;
    this.deadlineMs = this.#options.deadlines.after(lingerMs);
    body.abandon();
    this.#continueReading();
  };

  /** Waits for the next request, which may have been received already. */
  #await(): void {
    this.#phase = "reading";
    this.#discarded = undefined;
    this.deadlineMs = this.#options.deadlines.after(this.#options.idleMs);
    if (this.#rest !== undefined || this.#socket.isPaused()) this.#continueReading();
  }

  #refuse(error: RouterError): void {
    this.#phase = "closing";
    this.deadlineMs = this.#options.deadlines.after(lingerMs);
    this.#socket.end(errorBytes(error));
  }

  #close(): void {
    this.#phase = "closing";
    this.#rest = undefined;
    this.deadlineMs = this.#options.deadlines.after(lingerMs);
    this.#socket.end();
    this.#socket.resume();
  }

  /** The client has stopped sending. Without an upgrade the router does not serve half-closed connections. */
  #ended(): void {
    const { response, body, cancellation } = this.#serving ?? {};
    if (response !== undefined) {
      cancellation?.cancel(new ClientDisconnected());
      body?.fail();
      this.#socket.destroy();
    } else if (this.#phase === "reading" && this.#head.hasBegun) {
      this.#refuse(notHttp());
    } else {
      this.#socket.end();
    }
  }

  #closed(): void {
    this.#serving?.cancellation.cancel(new ClientDisconnected());
    this.#serving?.body?.fail();
    this.#leave();
  }

  /** Hands the connection over to an upgrade or CONNECT request. */
  #handOver(request: RequestHeadText, protocol: string | undefined): void {
    this.#leave();
    for (const [event, listener] of this.#listeners) this.#socket.off(event, listener);
    this.#socket.pause();
    const head = this.#rest ?? nothing;
    this.#rest = undefined;
    const [connectionInfo, socket] = [this.#connectionInfo, this.#socket];
    const { onRequest, backlog } = this.#options;
    onRequest(http1Upgrade(request, { socket, connectionInfo, backlog, head, protocol }));
  }

  #leave(): void {
    this.#options.deadlines.forget(this);
    this.#options.onGone(this);
  }
}

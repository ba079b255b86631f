import type { Socket } from "node:net";
import type { Deadlines, Timed } from "../deadlines.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { CallerGone, Cancellation } from "../proxy/cancellation.ts";
import { type Channel, channelOf } from "../proxy/channel.ts";
import type { Incoming } from "../proxy/incoming.ts";
import { errorBytes } from "../proxy/send-error.ts";
import type { Takeover } from "../proxy/takeover.ts";
import { RouterError, tooLate } from "../router-error.ts";
import { CallerBody } from "./caller-body.ts";
import { HeadReader } from "./head-reader.ts";
import { Http1Answer } from "./http1-answer.ts";
import { http1Takeover } from "./http1-takeover.ts";
import { mayBecomeRequest, parseRequestHead, type RequestHeadText } from "./parse-head.ts";
import { readTransportHeaders, type TransportHeaders, tokens } from "./transport-headers.ts";

export interface CallerHandlers {
  readonly request: (incoming: Incoming) => void;
  readonly upgrade: (takeover: Takeover) => Promise<void>;
  readonly connect: (takeover: Takeover) => Promise<void>;
}

export interface CallerConnectionOptions {
  readonly handlers: CallerHandlers;
  readonly deadlines: Deadlines;
  readonly backlog: Backlog;
  readonly maxHeaderBytes: number;
  /** How long a caller may take for its request's head. */
  readonly headMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
  /** Told when it is closed, or somebody else's. */
  readonly onGone: (connection: CallerConnection) => void;
}

interface Serving {
  readonly answer: Http1Answer;
  readonly body: CallerBody | undefined;
  readonly cancellation: Cancellation;
}

/**
 * - `reading`: a request's head is awaited.
 * - `serving`: there is a request, and its answer has not ended.
 * - `discarding`: the answer came before the request was whole, and the rest of that is dropped.
 * - `closing`: the last answer was given; whatever comes is dropped until the caller has closed too.
 */
type Phase = "reading" | "serving" | "discarding" | "closing";

/** One read of a socket: what a caller can make us hold by sending before it is asked. */
const mostAheadBytes = 64 * 1024;
/** For a caller to read its last answer and close: closing at once could take the answer from it. */
const lingerMs = 10_000;
const nothing = Buffer.alloc(0);

/** HTTP/1.1 with one caller: reads its requests strictly and one after the other. */
export class CallerConnection implements Timed {
  deadlineMs: number;
  readonly #socket: Socket;
  readonly #options: CallerConnectionOptions;
  readonly #channel: Channel;
  readonly #head: HeadReader;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  #phase: Phase = "reading";
  #serving: Serving | undefined;
  #discarded: CallerBody | undefined;
  /** Came and was not read yet. */
  #rest: Buffer | undefined;
  #hasHeadBegun = true;
  #isStepping = false;
  #isBroken = false;
  #isDraining = false;

  constructor(socket: Socket, options: CallerConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#channel = channelOf(socket);
    this.#head = new HeadReader({ mostBytes: options.maxHeaderBytes, mayBecomeHead: mayBecomeRequest });
    this.deadlineMs = options.deadlines.after(options.headMs);
    options.deadlines.watch(this);
    this.#listeners = [
      ["data", (chunk) => this.#arrived(chunk)],
      ["end", () => this.#ended()],
      ["close", () => this.#closed()],
      ["drain", () => this.#drained()],
    ];
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    socket.resume();
  }

  /** Ends it as soon as nothing is under way. */
  drain(): void {
    this.#isDraining = true;
    this.#serving?.answer.beLast();
    if (this.#phase === "reading" && !this.#head.hasBegun) this.#close();
  }

  onDeadline(): void {
    if (this.#phase === "reading" && this.#hasHeadBegun && this.#head.hasBegun) {
      this.#refuse(tooLate());
    } else {
      this.#socket.destroy();
    }
  }

  #arrived(chunk: Buffer): void {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#advance();
  }

  /** Reads what is there, as far as somebody wants it. */
  #advance(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    while (this.#rest !== undefined && this.#step(this.#rest));
    this.#isStepping = false;
  }

  /** Whether it makes sense to go on. */
  #step(bytes: Buffer): boolean {
    if (this.#phase === "reading") return this.#keepsUp() && this.#readHead(bytes);
    if (this.#phase === "closing") {
      this.#rest = undefined;
      return false;
    }
    const body = this.#serving?.body ?? this.#discarded;
    if (body !== undefined && !body.isWhole && body.wantsBytes) return this.#readBody(body, bytes);
    if (bytes.length >= mostAheadBytes) this.#socket.pause();
    return false;
  }

  /** Who does not read its answers is asked for no more requests: small ones would pile up without end. */
  #keepsUp(): boolean {
    const keepsUp = !this.#socket.writableNeedDrain;
    if (!keepsUp) this.#socket.pause();
    return keepsUp;
  }

  #drained(): void {
    this.#serving?.answer.onDrain?.();
    if (this.#phase === "reading") this.#goOn();
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

  #readBody(body: CallerBody, bytes: Buffer): boolean {
    try {
      const end = body.take(bytes, 0);
      this.#rest = end < bytes.length ? bytes.subarray(end) : undefined;
    } catch {
      // From here on nobody knows what is a body and what a request.
      this.#isBroken = true;
      this.#rest = undefined;
      if (this.#phase === "discarding") this.#close();
      else {
        this.#serving?.answer.beLast();
        body.fail(notHttp());
      }
      return false;
    }
    if (this.#phase === "discarding" && body.isWhole) this.#await();
    return true;
  }

  #begin(text: string): void {
    const head = parseRequestHead(text);
    if ("error" in head) return this.#refuse(head.error === "many" ? tooLarge() : notHttp());
    const transport = readTransportHeaders(head.rawHeaders);
    if ("error" in transport || (transport.isChunked && head.minorVersion === 0)) return this.#refuse(notHttp());
    const { length = 0, isChunked, expect } = transport;
    const hasBody = isChunked || length > 0;
    if (head.method === "CONNECT") return hasBody ? this.#refuse(notHttp()) : this.#giveUp("connect", head, "");
    if (!hasBody && maySwitch(head, transport)) return this.#giveUp("upgrade", head, transport.upgrade ?? "");
    const waits = expect !== undefined && head.minorVersion === 1;
    if (waits && expect.toLowerCase() !== "100-continue") return this.#refuse(notHttp());
    this.#serve(head, { transport, hasBody, waits });
  }

  #serve(
    { method, target, minorVersion, rawHeaders }: RequestHeadText,
    { transport, hasBody, waits }: { transport: TransportHeaders; hasBody: boolean; waits: boolean },
  ): void {
    const isLast = this.#isDraining || minorVersion === 0 || transport.connection.includes("close");
    const { backlog } = this.#options;
    const answer = new Http1Answer(this.#socket, { minorVersion, isLast, backlog, onEnd: this.#answered });
    const body = hasBody ? this.#bodyOf(transport, answer, waits) : undefined;
    const cancellation = new Cancellation();
    this.#serving = { answer, body, cancellation };
    this.#phase = "serving";
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#options.handlers.request({
      method,
      url: target,
      rawHeaders,
      channel: this.#channel,
      needsHost: minorVersion === 1,
      body,
      answer,
      cancellation,
    });
  }

  #bodyOf({ length, isChunked }: TransportHeaders, answer: Http1Answer, waits: boolean): CallerBody {
    const body: CallerBody = new CallerBody(isChunked ? "chunked" : (length ?? 0), {
      onStart: () => {
        if (waits && this.#rest === undefined) answer.continue();
        this.#goOn();
      },
      onPause: () => this.#socket.pause(),
      onResume: () => this.#goOn(),
      onAbandon: () => {
        this.#goOn();
        // The caller is told before it sends all the rest.
        if (!body.isWhole) answer.beLast();
      },
    });
    return body;
  }

  #goOn(): void {
    this.#advance();
    if (!this.#socket.destroyed) this.#socket.resume();
  }

  readonly #answered = (isLast: boolean): void => {
    const body = this.#serving?.body;
    this.#serving = undefined;
    if (isLast || this.#isBroken || this.#isDraining) return this.#close();
    if (body === undefined || body.isWhole) return this.#await();
    this.#phase = "discarding";
    this.#discarded = body;
    this.deadlineMs = this.#options.deadlines.after(lingerMs);
    body.abandon();
    this.#goOn();
  };

  /** The next request, which may be here already. */
  #await(): void {
    this.#phase = "reading";
    this.#discarded = undefined;
    this.deadlineMs = this.#options.deadlines.after(this.#options.idleMs);
    if (this.#rest !== undefined || this.#socket.isPaused()) this.#goOn();
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

  /** The caller will send no more. Half a connection is enough for no request. */
  #ended(): void {
    const { answer, body, cancellation } = this.#serving ?? {};
    if (answer !== undefined) {
      cancellation?.cancel(new CallerGone());
      body?.fail();
      this.#socket.destroy();
    } else if (this.#phase === "reading" && this.#head.hasBegun) {
      this.#refuse(notHttp());
    } else {
      this.#socket.end();
    }
  }

  #closed(): void {
    this.#serving?.cancellation.cancel(new CallerGone());
    this.#serving?.body?.fail();
    this.#leave();
  }

  #giveUp(to: "upgrade" | "connect", head: RequestHeadText, upgrade: string): void {
    this.#leave();
    for (const [event, listener] of this.#listeners) this.#socket.off(event, listener);
    this.#socket.pause();
    const early = this.#rest ?? nothing;
    this.#rest = undefined;
    const [channel, socket] = [this.#channel, this.#socket];
    const { handlers, backlog } = this.#options;
    void handlers[to](http1Takeover(head, { socket, channel, backlog, early, upgrade }));
  }

  #leave(): void {
    this.#options.deadlines.forget(this);
    this.#options.onGone(this);
  }
}

/**
 * A request with a body changes no protocol: what follows it could be either. Nor does HTTP/2 begin this way: the caller
 * would speak to the sandbox past every check.
 */
function maySwitch({ method, minorVersion }: RequestHeadText, { upgrade, connection }: TransportHeaders): boolean {
  const isAsked = method === "GET" && minorVersion === 1 && upgrade !== undefined && connection.includes("upgrade");
  return isAsked && !tokens(upgrade).some((protocol) => protocol.startsWith("h2c"));
}

const notHttp = (): RouterError => new RouterError("InvalidRequest", "The request is not valid HTTP.");
const tooLarge = (): RouterError => new RouterError("HeadersTooLarge", "The request headers are too large.");

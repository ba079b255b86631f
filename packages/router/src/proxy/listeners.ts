import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import { Deadlines } from "../deadlines.ts";
import { CallerConnection, type CallerHandlers } from "../http1/caller-connection.ts";
import type { Backlog } from "./backlog.ts";
import { type Channel, channelOf } from "./channel.ts";
import { endWhenIdle } from "./http2-idle.ts";
import { http2Incoming } from "./http2-incoming.ts";
import { http2Takeover } from "./http2-takeover.ts";

export interface ProtocolOptions {
  readonly handlers: CallerHandlers;
  readonly backlog: Backlog;
  readonly maxHeaderBytes: number;
  /** How long a caller may take for its request's head. */
  readonly headMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
}

/** The first bytes of HTTP/2 over a plain connection (RFC 9113, 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** How often callers are looked at that take too long. */
const sweepMs = 500;

/** Speaks HTTP/1.1 and HTTP/2 on connections that others accept. */
export class Protocols {
  readonly #options: ProtocolOptions;
  readonly #deadlines = new Deadlines(sweepMs);
  readonly #connections = new Set<CallerConnection>();
  /** Nothing has come on them yet. */
  readonly #silent = new Set<Socket>();
  readonly #http2: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: ProtocolOptions) {
    this.#options = options;
    this.#http2 = http2Server(options);
    this.#http2.on("session", (session) => {
      this.#sessions.add(session);
      endWhenIdle(session, { ...options, deadlines: this.#deadlines });
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => undefined);
    });
  }

  /** By what the caller says first: it is one or the other. */
  accept(socket: Socket): void {
    socket.on("error", () => undefined);
    const forget = (): void => void this.#silent.delete(socket);
    const leave = (): void => void socket.destroy();
    this.#silent.add(socket);
    socket.once("close", forget);
    socket.setTimeout(this.#options.headMs, leave);
    // Half a connection is of use only to one who has asked for something.
    socket.once("end", leave);
    const decide = (): void => {
      const first = socket.read() as Buffer | null;
      if (first === null) {
        if (!socket.readableEnded && !socket.destroyed) socket.once("readable", decide);
        return;
      }
      forget();
      socket.setTimeout(0, leave);
      socket.off("end", leave);
      socket.unshift(first);
      const isHttp2 = first.subarray(0, preface.length).equals(preface.subarray(0, first.length));
      // Fewer bytes than tell the two apart: HTTP/1.1 has no method "PRI", so its reader will refuse them.
      this.#serve(socket, isHttp2 && first.length >= 3);
    };
    socket.once("readable", decide);
  }

  /** By what was agreed in the handshake. */
  acceptSecure(socket: Socket & { readonly alpnProtocol?: string | false | null }): void {
    socket.on("error", () => undefined);
    this.#serve(socket, socket.alpnProtocol === "h2");
  }

  /** Finishes what is under way and takes nothing new on these connections. */
  drain(): void {
    for (const socket of this.#silent) socket.destroy();
    for (const connection of this.#connections) connection.drain();
    for (const session of this.#sessions) session.close();
  }

  destroy(): void {
    for (const session of this.#sessions) session.destroy();
    this.#deadlines[Symbol.dispose]();
  }

  #serve(socket: Socket, isHttp2: boolean): void {
    if (isHttp2) {
      // Its streams have ends of their own: who ends the connection has left.
      socket.allowHalfOpen = false;
      this.#http2.emit("connection", socket);
      return;
    }
    const onGone = (connection: CallerConnection): void => void this.#connections.delete(connection);
    this.#connections.add(new CallerConnection(socket, { ...this.#options, deadlines: this.#deadlines, onGone }));
  }
}

function http2Server({ handlers, backlog, maxHeaderBytes }: ProtocolOptions): Http2Server {
  const server = createHttp2Server({
    maxHeaderListPairs: 1000,
    maxSessionMemory: 32,
    // What a sandbox says twice is its own affair: by default it would be an error of ours.
    strictSingleValueFields: false,
    settings: { maxHeaderListSize: maxHeaderBytes, maxConcurrentStreams: 250, enableConnectProtocol: true },
  });
  // The compatibility layer of Node gives requests and responses the shape they have in HTTP/1.1.
  const handle = (given: unknown, response: unknown, expectsContinue: boolean): void => {
    const channel = channelOfStream(given as Http2ServerRequest);
    const pair = { request: given as IncomingMessage, response: response as ServerResponse };
    if (channel !== undefined) handlers.request(http2Incoming({ ...pair, channel, backlog, expectsContinue }));
  };
  server.on("request", (request, response) => handle(request, response, false));
  server.on("checkContinue", (request, response) => handle(request, response, true));
  server.on("connect", (request: Http2ServerRequest) => {
    const channel = channelOfStream(request);
    if (channel === undefined) return;
    const takeover = http2Takeover({ request, channel, backlog });
    void (":protocol" in request.headers ? handlers.upgrade : handlers.connect)(takeover);
  });
  server.on("sessionError", () => undefined);
  return server;
}

/** Undefined when the connection is gone already. */
function channelOfStream({ stream }: Http2ServerRequest): Channel | undefined {
  const socket = stream.session?.socket;
  return socket === undefined ? undefined : channelOf(socket);
}

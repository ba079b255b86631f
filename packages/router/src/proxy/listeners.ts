import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { RouterError } from "../router-error.ts";
import { type Channel, channelOf } from "./channel.ts";
import { tokens } from "./request-head.ts";
import { errorBytes } from "./send-error.ts";

export interface Handlers {
  readonly request: (
    request: IncomingMessage,
    response: ServerResponse,
    channel: Channel & { expectsContinue?: boolean },
  ) => Promise<void>;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, channel: Channel) => Promise<void>;
  readonly connect: (request: IncomingMessage, socket: Duplex, head: Buffer, channel: Channel) => Promise<void>;
}

export interface ProtocolOptions {
  readonly handlers: Handlers;
  readonly maxHeaderBytes: number;
  /** How long a caller may take for its request's head. */
  readonly headMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
}

/** The first bytes of HTTP/2 over a plain connection (RFC 9113, 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Speaks HTTP/1.1 and HTTP/2 on connections that others accept. */
export class Protocols {
  readonly #http1: HttpServer;
  readonly #http2: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #headMs: number;

  constructor(options: ProtocolOptions) {
    this.#headMs = options.headMs;
    this.#http1 = http1Server(options);
    this.#http2 = http2Server(options);
    this.#http2.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => undefined);
    });
  }

  /** By what the caller says first: it is one or the other. */
  accept(socket: Socket): void {
    socket.on("error", () => undefined);
    const tooSlow = (): void => void socket.destroy();
    socket.setTimeout(this.#headMs, tooSlow);
    const decide = (): void => {
      const first = socket.read() as Buffer | null;
      if (first === null) {
        if (!socket.readableEnded && !socket.destroyed) socket.once("readable", decide);
        return;
      }
      socket.setTimeout(0, tooSlow);
      socket.unshift(first);
      const isHttp2 = first.subarray(0, preface.length).equals(preface.subarray(0, first.length));
      // Fewer bytes than tell the two apart: HTTP/1.1 has no method "PRI", so its parser will refuse them.
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
    this.#http1.closeIdleConnections();
    for (const session of this.#sessions) session.close();
  }

  destroy(): void {
    this.#http1.closeAllConnections();
    for (const session of this.#sessions) session.destroy();
    // Ends the timer that looks for slow callers.
    this.#http1.close(() => undefined);
  }

  #serve(socket: Socket, isHttp2: boolean): void {
    (isHttp2 ? this.#http2 : this.#http1).emit("connection", socket);
  }
}

function http1Server({ handlers, maxHeaderBytes, headMs, idleMs }: ProtocolOptions): HttpServer {
  const server = createHttpServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headMs,
    keepAliveTimeout: idleMs,
    // Uploads may take as long as they take; one that stands still is cut off by the request's own timeout.
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    shouldUpgradeCallback: maySwitch,
    // Answered like everything else, by the front door.
    requireHostHeader: false,
  });
  // Some versions of Node drop what exceeds this without a word; the size of the head is the limit instead.
  server.maxHeadersCount = 0;
  server.on("request", (request, response) => void handlers.request(request, response, channelOf(request.socket)));
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    void handlers.request(request, response, { ...channelOf(request.socket), expectsContinue: true });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void handlers.upgrade(request, socket, head, channelOf(request.socket));
  });
  server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void handlers.connect(request, socket, head, channelOf(request.socket));
  });
  server.on("clientError", refuseClient);
  // It listens nowhere itself, and looks for slow callers only once it believes that it does.
  server.emit("listening");
  return server;
}

/**
 * A request with a body changes no protocol: what follows it could be either. Nor does HTTP/2 begin this way: the caller
 * would speak to the sandbox past every check.
 */
function maySwitch({ headers, method }: IncomingMessage): boolean {
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return method === "GET" && !hasBody && !tokens(headers.upgrade ?? "").some((token) => token.startsWith("h2c"));
}

function http2Server({ handlers, maxHeaderBytes }: ProtocolOptions): Http2Server {
  const server = createHttp2Server({
    maxHeaderListPairs: 1000,
    maxSessionMemory: 32,
    settings: { maxHeaderListSize: maxHeaderBytes, maxConcurrentStreams: 250 },
  });
  const handle = (request: unknown, response: unknown, expectsContinue: boolean): void => {
    const { stream } = request as { stream?: { session?: { socket?: Socket } } };
    const socket = stream?.session?.socket;
    if (socket === undefined) return;
    // The compatibility layer of Node gives both the shape they have in HTTP/1.1.
    void handlers.request(request as IncomingMessage, response as ServerResponse, {
      ...channelOf(socket),
      expectsContinue,
    });
  };
  server.on("request", (request, response) => handle(request, response, false));
  server.on("checkContinue", (request, response) => handle(request, response, true));
  server.on("sessionError", () => undefined);
  return server;
}

/** What could not even be read gets an answer in the same form, and the connection ends. */
function refuseClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(errorBytes(clientErrorAnswer(error.code)));
}

export function clientErrorAnswer(code: string | undefined): RouterError {
  if (code === "HPE_HEADER_OVERFLOW") return new RouterError("HeadersTooLarge", "The request headers are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new RouterError("InvalidRequest", "The request did not arrive in time.");
  return new RouterError("InvalidRequest", "The request is not valid HTTP.");
}

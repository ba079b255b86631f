import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import { Deadlines } from "../deadlines.ts";
import { ClientConnection } from "../http1/client-connection.ts";
import type { ClientSocket } from "../http1/client-socket.ts";
import { endWhenIdle } from "../http2/http2-idle.ts";
import { http2Request } from "../http2/http2-request.ts";
import { http2Upgrade } from "../http2/http2-upgrade.ts";
import type { Backlog } from "../proxy/backlog.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { type ConnectionInfo, connectionInfoOf } from "./connection-info.ts";

export interface ProtocolServerOptions {
  readonly onRequest: (client: ClientRequest) => void;
  readonly backlog: Backlog;
  readonly maxHeaderBytes: number;
  /** How long a client may take to send a request's head. */
  readonly headMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
}

/** The first bytes of HTTP/2 over a plain connection (RFC 9113, 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** How often the timeouts of clients are checked. */
const sweepMs = 500;

/** Reads HTTP/1.1 and HTTP/2 requests from the connections that the listeners accept. */
export class ProtocolServer {
  readonly #options: ProtocolServerOptions;
  readonly #deadlines = new Deadlines(sweepMs);
  readonly #connections = new Set<ClientConnection>();
  /** Connections that have not sent anything yet. */
  readonly #silent = new Set<Socket>();
  readonly #http2: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: ProtocolServerOptions) {
    this.#options = options;
    this.#http2 = http2Server(options);
    this.#http2.on("session", (session) => {
      this.#sessions.add(session);
      endWhenIdle(session, { ...options, deadlines: this.#deadlines });
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => undefined);
    });
  }

  /** Serves a plain connection. Its first bytes tell whether it is HTTP/1.1 or HTTP/2. */
  accept(socket: Socket): void {
    socket.on("error", () => undefined);
    const forget = (): void => void this.#silent.delete(socket);
    const close = (): void => void socket.destroy();
    this.#silent.add(socket);
    socket.once("close", forget);
    socket.setTimeout(this.#options.headMs, close);
    // A client that stops sending before its first request wants nothing.
    socket.once("end", close);
    const detect = (): void => {
      const first = socket.read() as Buffer | null;
      if (first === null) {
        if (!socket.readableEnded && !socket.destroyed) socket.once("readable", detect);
        return;
      }
      forget();
      socket.setTimeout(0, close);
      socket.off("end", close);
      socket.unshift(first);
      const isPreface = first.subarray(0, preface.length).equals(preface.subarray(0, first.length));
      // Fewer than three bytes do not tell the two apart. They are read as HTTP/1.1, which refuses the method "PRI".
      this.#serve(socket, isPreface && first.length >= 3);
    };
    socket.once("readable", detect);
  }

  /** Serves a TLS connection. ALPN tells whether it is HTTP/1.1 or HTTP/2. */
  acceptSecure(socket: Socket & { readonly alpnProtocol?: string | false | null }): void {
    socket.on("error", () => undefined);
    this.#serve(socket, socket.alpnProtocol === "h2");
  }

  /** Serves a connection within the process, which is always HTTP/1.1. */
  acceptForwarded(socket: ClientSocket, connectionInfo: ConnectionInfo): void {
    socket.on("error", () => undefined);
    this.#serveHttp1(socket, connectionInfo);
  }

  /** Closes idle connections, and the others when their current requests have ended. */
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
      // HTTP/2 ends its streams one by one. A client that ends the connection has disconnected.
      socket.allowHalfOpen = false;
      this.#http2.emit("connection", socket);
      return;
    }
    this.#serveHttp1(socket, connectionInfoOf(socket));
  }

  #serveHttp1(socket: ClientSocket, connectionInfo: ConnectionInfo): void {
    const onGone = (connection: ClientConnection): void => void this.#connections.delete(connection);
    const options = { ...this.#options, connectionInfo, deadlines: this.#deadlines, onGone };
    this.#connections.add(new ClientConnection(socket, options));
  }
}

function http2Server({ onRequest, backlog, maxHeaderBytes }: ProtocolServerOptions): Http2Server {
  const server = createHttp2Server({
    maxHeaderListPairs: 1000,
    maxSessionMemory: 32,
    // A sandbox may repeat a header. With the default, Node would throw when the response is relayed.
    strictSingleValueFields: false,
    settings: { maxHeaderListSize: maxHeaderBytes, maxConcurrentStreams: 250, enableConnectProtocol: true },
  });
  // Node's compatibility layer gives HTTP/2 requests and responses the shape of HTTP/1.1 ones.
  const handle = (given: unknown, response: unknown, expectsContinue: boolean): void => {
    const connectionInfo = connectionInfoOfStream(given as Http2ServerRequest);
    if (connectionInfo === undefined) return;
    const pair = { request: given as IncomingMessage, nodeResponse: response as ServerResponse };
    onRequest(http2Request({ ...pair, connectionInfo, backlog, expectsContinue }));
  };
  server.on("request", (request, response) => handle(request, response, false));
  server.on("checkContinue", (request, response) => handle(request, response, true));
  server.on("connect", (request: Http2ServerRequest) => {
    const connectionInfo = connectionInfoOfStream(request);
    if (connectionInfo !== undefined) onRequest(http2Upgrade({ request, connectionInfo, backlog }));
  });
  server.on("sessionError", () => undefined);
  return server;
}

/** Undefined if the connection is already closed. */
function connectionInfoOfStream({ stream }: Http2ServerRequest): ConnectionInfo | undefined {
  const socket = stream.session?.socket;
  return socket === undefined ? undefined : connectionInfoOf(socket);
}

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { ApiError } from "../api-error.ts";

/** Far above what kubectl sends in one message, which is 32 KiB. */
const maxMessageBytes = 4 * 1024 * 1024;
const maxSessions = 1000;

/** The request and the connection that are to speak another protocol from now on. */
export interface Upgrading {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Connections that have changed protocols. */
export class Connections {
  readonly #open = new Set<Socket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  });
  /** What was agreed on with clients whose handshake is under way. */
  readonly #protocols = new WeakMap<IncomingMessage, string>();

  constructor() {
    this.#server.on("headers", (headers, request) => {
      headers.push(`Sec-WebSocket-Protocol: ${this.#protocols.get(request)}`);
    });
  }

  checkRoom(): void {
    if (this.#open.size < maxSessions) return;
    throw new ApiError("TooManyRequests", `${maxSessions} sessions with Pods are open`, {
      details: { retryAfterSeconds: 1 },
    });
  }

  /** Rejects when the client is gone before it could be answered. */
  webSocket(upgrading: Upgrading, protocol: string): Promise<WebSocket> {
    const { request, socket, head } = upgrading;
    // The library refuses names with a slash in them, which kubectl's have, and need not know of them.
    delete request.headers["sec-websocket-protocol"];
    this.#protocols.set(request, protocol);
    this.#track(socket);
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error("Cannot answer: the client is gone"));
      if (socket.destroyed) return gone();
      // The handshake may be refused, too, without a WebSocket ever coming to be.
      socket.once("close", gone);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off("close", gone);
        resolve(webSocket);
      });
    });
  }

  /** The bytes of a connection that speaks SPDY from now on. */
  spdy({ socket, head }: Upgrading, protocol: string): Duplex {
    this.#track(socket);
    if (head.length > 0) socket.unshift(head);
    socket.setNoDelay(true);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
    );
    return socket;
  }

  /** Says goodbye where the protocol has a word for it. */
  close(): void {
    for (const client of this.#server.clients) client.close(1001, "the server is shutting down");
    for (const socket of this.#open) socket.end();
  }

  #track(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
  }
}

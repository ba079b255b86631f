import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { ApiError } from "../api-error.ts";

/** Far above the 32 KiB that kubectl sends in one message. */
const maxMessageBytes = 4 * 1024 * 1024;
const maxSessions = 1000;

/** An upgrade request with its connection. */
export interface Upgrading {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

/** All upgraded connections. */
export class Connections {
  readonly #open = new Set<Socket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  });
  /** The negotiated protocols of handshakes in progress. */
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

  /** Rejects when the client disconnects before the handshake completes. */
  webSocket(upgrading: Upgrading, protocol: string): Promise<WebSocket> {
    const { request, socket, head } = upgrading;
    // Hide the protocol from the library, which refuses names with a slash, such as kubectl's.
    delete request.headers["sec-websocket-protocol"];
    this.#protocols.set(request, protocol);
    this.#track(socket);
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error("Cannot answer: the client has disconnected"));
      if (socket.destroyed) return gone();
      // The library may also refuse the handshake without creating a WebSocket.
      socket.once("close", gone);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off("close", gone);
        resolve(webSocket);
      });
    });
  }

  /** Accepts an upgrade to SPDY and returns the raw connection. */
  spdy({ socket, head }: Upgrading, protocol: string): Duplex {
    this.#track(socket);
    if (head.length > 0) socket.unshift(head);
    socket.setNoDelay(true);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
    );
    return socket;
  }

  /** Closes all connections, with a close message where the protocol has one. */
  close(): void {
    for (const client of this.#server.clients) client.close(1001, "the server is shutting down");
    for (const socket of this.#open) socket.end();
  }

  #track(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
  }
}

import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { type ConnectionPool, keepAliveMs, type PoolSettings } from "./connection-pool.ts";

// An import would evaluate all exports of "node:http", among them a copy of undici that takes 25 ms.
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

/**
 * Connections of Node's own HTTP client. It is part of the Node binary, so a program that sends a few requests has its answers
 * before undici would be loaded. Each request costs more CPU time than with undici.
 */
export class NodePool implements ConnectionPool {
  readonly #send: (options: RequestOptions) => ClientRequest;
  readonly #agent: Agent;
  readonly #target: RequestOptions;
  readonly #connectTimeoutMs: number;
  readonly #pending = new Set<ClientRequest>();

  constructor({ origin, connections, connectTimeoutMs, serverName, insecure, secureContext }: PoolSettings) {
    const { protocol, hostname, port } = new URL(origin);
    const shared = {
      keepAlive: true,
      keepAliveMsecs: keepAliveMs,
      maxSockets: connections ?? Number.POSITIVE_INFINITY,
    };
    const isTls = protocol === "https:";
    this.#send = isTls ? https.request : http.request;
    this.#agent = isTls ? new https.Agent(shared) : new http.Agent(shared);
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#target = {
      // An IPv6 address is in brackets in a URL only.
      hostname: hostname.replaceAll(/[[\]]/g, ""),
      port,
      agent: this.#agent,
      ...(serverName === undefined ? {} : { servername: serverName }),
      ...(insecure ? { rejectUnauthorized: false } : {}),
      ...(secureContext === undefined ? {} : { secureContext }),
    };
  }

  dispatch({ method, path, headers, body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const sent = this.#send({
      ...this.#target,
      method,
      path,
      headers: { ...lengthOf(body), ...(headers as OutgoingHttpHeaders) },
    });
    this.#pending.add(sent);
    const controller = new NodeController(sent);
    sent.once("close", () => this.#pending.delete(sent));
    // Nothing is written before the handshake is complete: an error then tells whether the request was sent.
    const start = (): void => {
      handler.onRequestStart?.(controller, {});
      if (!sent.destroyed) sent.end(body);
    };
    sent.once("socket", (socket) => this.#whenConnected(socket, sent, start));
    sent.once("response", (response) => receive(response, controller, handler));
    sent.on("error", (error) => handler.onResponseError?.(controller, error));
    return true;
  }

  #whenConnected(socket: Socket, sent: ClientRequest, connected: () => void): void {
    if (!socket.connecting) {
      connected();
      return;
    }
    const timer = setTimeout(() => {
      sent.destroy(Object.assign(new Error("the connection timed out"), { code: "ETIMEDOUT" }));
    }, this.#connectTimeoutMs);
    sent.once("close", () => clearTimeout(timer));
    socket.once("secureContext" in this.#target ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      connected();
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pending].map((sent) => new Promise((resolve) => sent.once("close", resolve))));
    this.#agent.destroy();
  }

  async destroy(): Promise<void> {
    for (const sent of this.#pending) sent.destroy(new Error("the client was closed"));
    this.#agent.destroy();
  }
}

/** Node sends the body of a DELETE without a length, which a server takes for the next request. */
function lengthOf(body: Dispatcher.DispatchOptions["body"]): { "content-length"?: number } {
  return typeof body === "string" || body instanceof Uint8Array ? { "content-length": Buffer.byteLength(body) } : {};
}

/** Pauses and ends one request. */
class NodeController implements Dispatcher.DispatchController {
  response: IncomingMessage | undefined;
  reason: Error | null = null;
  readonly #sent: ClientRequest;

  constructor(sent: ClientRequest) {
    this.#sent = sent;
  }

  get aborted(): boolean {
    return this.reason !== null;
  }

  get paused(): boolean {
    return this.response?.isPaused() ?? false;
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    this.#sent.destroy(reason);
    this.response?.destroy(reason);
  }

  pause(): void {
    this.response?.pause();
  }

  resume(): void {
    this.response?.resume();
  }
}

function receive(response: IncomingMessage, controller: NodeController, handler: Dispatcher.DispatchHandler): void {
  controller.response = response;
  handler.onResponseStart?.(controller, response.statusCode ?? 0, response.headers);
  response.on("data", (chunk: Buffer) => handler.onResponseData?.(controller, chunk));
  response.on("end", () => handler.onResponseEnd?.(controller, response.trailers));
  response.on("error", (error) => handler.onResponseError?.(controller, error));
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Method } from "@agent-sandbox/kube";
import { ApiError, methodNotAllowed, pathNotFound } from "../api-error.ts";
import type { Authenticator, Credentials } from "../auth/authenticate.ts";
import { clientCertificate } from "../auth/client-certificate.ts";
import type { Identity } from "../auth/identity.ts";
import { asksToImpersonate, readWireImpersonation } from "../auth/impersonation.ts";
import type { Logger } from "../logger.ts";
import type { ApiRequest, Reply } from "../request/api-request.ts";
import { failure } from "../request/replies.ts";
import type { CrossOrigin } from "./cross-origin.ts";
import { FairShares, type Seat, type ShareLimits } from "./fair-shares.ts";
import { readBody } from "./read-body.ts";
import { writeReply } from "./write-reply.ts";

export interface HttpsServerOptions {
  readonly key: string;
  readonly certificate: string;
  /** The certificate authority of client certificates, PEM. */
  readonly authority: string;
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly logger: Logger;
  /** Default: ten seconds for the headers, a minute for the whole request, a minute without reading the response. */
  readonly timeouts?: Timeouts;
  /** How much one user may have in progress. Default: see `defaultShares`. */
  readonly shares?: Partial<ShareLimits> | undefined;
  /** Which pages may call the API. Default: none. Proxied requests are answered by Pods, so it does not apply to them. */
  readonly crossOrigin?: CrossOrigin | undefined;
  handle(request: ApiRequest): Promise<Reply>;
  /** Returns a handler for an authenticated request whose body must not be read here, or `undefined` for an ordinary request. */
  proxyHandler?(request: IncomingMessage, caller: Caller): ((response: ServerResponse) => Promise<void>) | undefined;
  /** Takes over the connection of an authenticated upgrade request. */
  upgrade(request: IncomingMessage, socket: Socket, upgrade: Upgrade): void;
  /** Is notified of requests that failed authentication. */
  unauthenticated?(request: IncomingMessage): void;
}

/** The sender of a request. */
export interface Caller {
  readonly identity: Identity;
  readonly impersonate: Identity | undefined;
}

/** An upgrade request. */
export interface Upgrade extends Caller {
  readonly head: Buffer;
  /** Authenticates the client again, with the credentials of this request. Throws `Unauthorized`. */
  readonly authenticate: () => Identity;
}

/** Limits how long slow clients can occupy a connection. */
export interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a client may read nothing of a response. */
  readonly stalledMs: number;
}

const defaultTimeouts: Timeouts = { headersMs: 10_000, requestMs: 60_000, stalledMs: 60_000 };
const keepAliveTimeoutMs = 120_000;
const maxHeaderBytes = 64 * 1024;
/** Enough for all clients on one machine. Beyond it, new connections are closed immediately. */
const maxConnections = 4096;
const closeGraceMs = 2000;

const clientGone = new Error("the client has disconnected");

const methods: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE"] satisfies Method[];

export class HttpsServer {
  readonly #server: Server;
  readonly #options: HttpsServerOptions;
  readonly #stalledMs: number;
  readonly #shares: FairShares;
  /** Upgraded connections. Node's server no longer tracks them, so `close` must end them. */
  readonly #upgraded = new Set<Socket>();

  constructor(options: HttpsServerOptions) {
    this.#options = options;
    const { headersMs, requestMs, stalledMs } = options.timeouts ?? defaultTimeouts;
    this.#stalledMs = stalledMs;
    this.#shares = new FairShares(options.shares);
    this.#server = createServer({
      key: options.key,
      cert: options.certificate,
      // Client certificates are requested but not required, because a client may use a token.
      ca: options.authority,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      handshakeTimeout: headersMs,
      connectionsCheckingInterval: headersMs / 2,
    });
    this.#server.maxConnections = maxConnections;
    this.#server.on("request", (request, response) => void this.#serve(request, response));
    this.#server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
  }

  async listen(host: string, port: number): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    this.#server.on("error", (error) => this.#options.logger.error({ err: error }, "HTTPS server failed"));
    return this.#server.address() as AddressInfo;
  }

  /** Accepts no new connections, waits briefly for requests in progress, then closes all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => {
      this.#server.closeAllConnections();
      for (const socket of this.#upgraded) socket.destroy();
    }, closeGraceMs);
    await closed;
    clearTimeout(timer);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Created only when needed: few requests use the signal, and creating one costs as much as parsing a request.
    let gone: AbortController | undefined;
    const signal = (): AbortSignal => {
      if (gone !== undefined) return gone.signal;
      const asked = new AbortController();
      gone = asked;
      response.once("close", () => {
        if (!response.writableFinished) asked.abort(clientGone);
      });
      if (response.destroyed) asked.abort(clientGone);
      return asked.signal;
    };
    try {
      if (isProxied(request)) await this.#proxy(request, response);
      else if (this.#options.crossOrigin?.answersPreflight(request, response) !== true)
        await this.#answer(request, response, signal);
    } catch (error) {
      if (response.destroyed) return;
      this.#options.logger.error({ err: error, method: request.method, path: pathOf(request) }, "request failed");
      if (response.headersSent) response.destroy();
      else
        await writeReply(
          response,
          failure(new ApiError("InternalError", "Internal error occurred: see the server's log")),
          this.#stalledMs,
        );
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: () => AbortSignal): Promise<void> {
    let seat: Seat | undefined;
    try {
      const identity = this.#authenticate(request);
      seat = await this.#shares.enter(identity);
      if (response.destroyed) return;
      const reply = await this.#reply(request, { identity, seat, signal });
      if (reply.kind === "watch") seat.become("watches");
      if (reply.kind === "stream") becomeStream(seat, reply);
      if (reply.kind === "object" && (reply.length ?? 0) > largeLength) await seat.alone();
      await writeReply(response, withRest(request, reply), this.#stalledMs);
    } catch (error) {
      if (!(error instanceof ApiError) || response.headersSent) throw error;
      await writeReply(response, withRest(request, failure(error)), this.#stalledMs);
    } finally {
      seat?.leave();
    }
  }

  async #reply(request: IncomingMessage, { identity, seat, signal }: Seated): Promise<Reply> {
    const method = request.method ?? "";
    if (!methods.includes(method)) throw methodNotAllowed();
    const { body, bodyProblem, duplicateFields } = await readBody(request, () => seat.turn());
    const headers = request.headers as ApiRequest["headers"];
    return this.#options.handle({
      method: method as Method,
      url: request.url ?? "/",
      headers,
      body,
      bodyProblem,
      duplicateFields,
      identity,
      impersonate: impersonated(request),
      sourceAddress: request.socket.remoteAddress,
      get signal() {
        return signal();
      },
    });
  }

  async #proxy(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let close: (() => void) | undefined;
    try {
      const identity = this.#authenticate(request);
      const impersonate = impersonated(request);
      close = this.#shares.open(identity, "streams");
      const handler = this.#options.proxyHandler?.(request, { identity, impersonate });
      if (handler === undefined) throw pathNotFound();
      await handler(response);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const reply = failure(error);
      await writeReply(response, { ...reply, headers: { ...reply.headers, connection: "close" } }, this.#stalledMs);
    } finally {
      close?.();
    }
  }

  #authenticate(request: IncomingMessage): Identity {
    try {
      return this.#options.authenticator.authenticate(credentialsOf(request));
    } catch (error) {
      this.#options.unauthenticated?.(request);
      throw error;
    }
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    this.#upgraded.add(socket);
    socket.once("close", () => this.#upgraded.delete(socket));
    try {
      const identity = this.#authenticate(request);
      const impersonate = impersonated(request);
      socket.once("close", this.#shares.open(identity, "streams"));
      const authenticate = (): Identity => this.#options.authenticator.authenticate(credentialsOf(request));
      this.#options.upgrade(request, socket, { head, identity, impersonate, authenticate });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refuseUpgrade(socket, error);
    }
  }
}

/** Responses of this size or more are sent one at a time for each flow, because they stay in memory until sent. */
const largeLength = 4 * 1024 * 1024;

interface Seated {
  readonly identity: Identity;
  readonly seat: Seat;
  readonly signal: () => AbortSignal;
}

/** Destroys the stream when its seat is refused, because its source may be a process or a file. */
function becomeStream(seat: Seat, { body }: Extract<Reply, { kind: "stream" }>): void {
  try {
    seat.become("streams");
  } catch (error) {
    body.destroy();
    throw error;
  }
}

/** The rest of a refused body is not read, so the connection cannot be reused. */
const withRest = (request: IncomingMessage, reply: Reply): Reply =>
  request.complete ? reply : { ...reply, headers: { ...reply.headers, connection: "close" } };

/** Whether the request is proxied. Bodies of proxied requests are not read here. */
const isProxied = ({ url = "" }: IncomingMessage): boolean => url.includes("/proxy") && proxiedPath.test(url);

/** Does not include the proxy of a node, which is answered in this process. */
const proxiedPath = /^\/api\/v1\/namespaces\/[^/]+\/[^/]+\/[^/]+\/proxy(?:[/?]|$)/;

const pathOf = (request: IncomingMessage): string => (request.url ?? "/").split("?", 1)[0] as string;

/** Parses repeated headers only if the request impersonates. */
const impersonated = (request: IncomingMessage): Identity | undefined =>
  Object.keys(request.headers).some(asksToImpersonate) ? readWireImpersonation(request.headersDistinct) : undefined;

const credentialsOf = (request: IncomingMessage): Credentials => ({
  path: pathOf(request),
  authorization: request.headers.authorization,
  certificate: request.socket instanceof TLSSocket ? clientCertificate(request.socket) : undefined,
});

/** Answers an upgrade request with an ordinary error. */
export function refuseUpgrade(socket: Socket, error: ApiError): void {
  const body = JSON.stringify(error.toStatus());
  socket.end(
    `HTTP/1.1 ${error.code} ${error.reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

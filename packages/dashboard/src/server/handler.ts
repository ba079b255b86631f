import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "@agent-sandbox/kube";
import type { Assets } from "./assets.ts";
import { checkRequestToken, dashboardHost, isOwnNavigation, isSameOrigin, kindOfHost } from "./check-request.ts";
import { forward } from "./forward.ts";
import { commonHeaders, dataPolicy, formatCookie, pagePolicy, sessionCookie } from "./headers.ts";
import { forbidden, HttpFailure, noSession, notFound } from "./http-failure.ts";
import { identify } from "./identify.ts";
import type { LoginCodes } from "./login-codes.ts";
import { kubePath, routerPath } from "./paths.ts";
import { readJson } from "./read-json.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { Streams } from "./streams.ts";
import type { Upstream } from "./upstream.ts";

export interface HandlerOptions {
  readonly api: Upstream;
  readonly router: Upstream;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly codes: LoginCodes;
  readonly assets: Assets;
  readonly port: () => number;
  readonly version: string;
  readonly log: Logger;
}

/** Serves every request. Refuses before anything else those of other sites. */
export class Handler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    try {
      await this.#dispatch(request, response);
    } catch (error) {
      const failure = error instanceof HttpFailure ? error : internal(error);
      if (failure.status >= 500 && !response.destroyed) {
        this.#options.log.warn({ err: failure.cause ?? failure, method: request.method }, "dashboard request failed");
      }
      if (response.headersSent) response.destroy();
      else reply(response, failure.status, failure.body, "application/json");
    } finally {
      request.resume();
    }
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const { sessions, streams, port } = this.#options;
    const session = sessions.find(sessionCookie(request.headers));
    const isOwn = kindOfHost(request.headers.host, port()) === "own" && request.headers.origin !== undefined;
    if (!isOwn || !isSameOrigin(request) || session === undefined || request.url !== "/streams") {
      return refuse(socket, "403 Forbidden");
    }
    if (!streams.accept(request, socket, head, session)) refuse(socket, "429 Too Many Requests");
  }

  async #dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? "/";
    const [path = ""] = target.split("?", 1);
    const host = kindOfHost(request.headers.host, this.#options.port());
    if (host === "foreign") throw new HttpFailure(421, "BadRequest", `The dashboard is at http://${this.#ownHost()}/`);
    if (path === "/healthz") return reply(response, 200, "ok", "text/plain");
    if (path === "/logins") return this.#createLogin(request, response);
    if (host === "loopback") return this.#redirect(request, response, target);
    if (path === "/login") return this.#redeem(request, response, target);
    if (path.startsWith("/assets/")) return this.#sendAsset(request, response, path.slice("/assets/".length));
    if (path === "/session" || path === "/logout" || path.startsWith("/kube/") || path.startsWith("/runtime/")) {
      return this.#serveData(request, response, { path, target });
    }
    return this.#sendPage(request, response);
  }

  async #serveData(
    request: IncomingMessage,
    response: ServerResponse,
    { path, target }: { readonly path: string; readonly target: string },
  ): Promise<void> {
    const { api, router, sessions } = this.#options;
    if (!isSameOrigin(request)) throw forbidden("Only pages of the dashboard may use it");
    const session = sessions.find(sessionCookie(request.headers));
    if (session === undefined) throw noSession();
    if (path === "/session" && request.method === "GET") return this.#describe(response, session);
    checkRequestToken(request.headers.authorization, session.requestToken);
    if (path === "/logout" && request.method === "POST") return this.#logOut(response, session);
    if (path.startsWith("/kube/")) {
      const place = kubePath(target.slice("/kube".length));
      const status = await forward(request, response, { upstream: api, path: place, session });
      // The token has expired, or was revoked: the session ends with it.
      if (status === 401) sessions.end(session);
    } else if (path.startsWith("/runtime/")) {
      await forward(request, response, {
        upstream: router,
        path: routerPath(target.slice("/runtime".length)),
        session,
      });
    } else throw notFound();
  }

  #describe(response: ServerResponse, { user, namespace, expiresAt, requestToken }: Session): void {
    const { version } = this.#options;
    reply(response, 200, JSON.stringify({ user, namespace, expiresAt, requestToken, version }), "application/json");
  }

  #logOut(response: ServerResponse, session: Session): void {
    this.#options.sessions.end(session);
    response.setHeader("set-cookie", formatCookie("", 0));
    reply(response, 204, "", "application/json");
  }

  /** For programs that have the user's token. Pages cannot send it: a browser asks first whether it may, and is refused. */
  async #createLogin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { api, codes } = this.#options;
    if (request.method !== "POST") throw new HttpFailure(405, "MethodNotAllowed", "Send a POST with the user's token");
    if (request.headers.origin !== undefined) throw forbidden("Pages cannot create login links");
    const [, token] = /^Bearer ([^\s]+)$/.exec(request.headers.authorization ?? "") ?? [];
    if (token === undefined) throw noSession();
    const { namespace } = await readJson(request);
    const login = await identify(api, token, typeof namespace === "string" ? namespace : "default");
    const { code, expiresAt } = codes.create(login);
    const url = `http://${this.#ownHost()}/login?code=${code}`;
    reply(response, 201, JSON.stringify({ url, expiresAt: new Date(expiresAt).toISOString() }), "application/json");
  }

  #redeem(request: IncomingMessage, response: ServerResponse, target: string): void {
    const { codes, sessions } = this.#options;
    // A link on another site could log the user in as somebody else.
    if (request.method !== "GET" || !isOwnNavigation(request)) {
      throw forbidden("Open the login link yourself: copy it into the address bar");
    }
    const login = codes.redeem(new URLSearchParams(target.slice(target.indexOf("?"))).get("code") ?? "");
    if (login === undefined) return this.#sendPage(request, response, 401);
    const before = sessions.find(sessionCookie(request.headers));
    if (before !== undefined) sessions.end(before);
    const { cookie, maxAgeSeconds } = sessions.open(login);
    this.#options.log.info({ user: login.user }, "dashboard session opened");
    response.setHeader("set-cookie", formatCookie(cookie, maxAgeSeconds));
    response.setHeader("location", "/");
    reply(response, 303, "", "text/plain");
  }

  #redirect(request: IncomingMessage, response: ServerResponse, target: string): void {
    if (request.method !== "GET" && request.method !== "HEAD") throw notFound();
    // A target such as `//host` would be the address of another server.
    response.setHeader("location", `http://${this.#ownHost()}/${target.replace(/^\/+/, "")}`);
    reply(response, 302, "", "text/plain");
  }

  #sendAsset(request: IncomingMessage, response: ServerResponse, name: string): void {
    const asset = this.#options.assets.find(name);
    if (asset === undefined || (request.method !== "GET" && request.method !== "HEAD")) throw notFound();
    const isCompressed = /\bgzip\b/.test(request.headers["accept-encoding"]?.toString() ?? "");
    const content = isCompressed ? asset.compressed : asset.content;
    response.writeHead(200, {
      ...commonHeaders,
      "content-security-policy": dataPolicy,
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": asset.type,
      "content-length": content.length,
      vary: "accept-encoding",
      ...(isCompressed && { "content-encoding": "gzip" }),
    });
    response.end(request.method === "HEAD" ? undefined : content);
  }

  #sendPage(request: IncomingMessage, response: ServerResponse, status = 200): void {
    const { page } = this.#options.assets;
    if (request.method !== "GET" && request.method !== "HEAD") throw notFound();
    if (page === undefined)
      throw new HttpFailure(503, "ServiceUnavailable", "The page was not built: run scripts/build.ts");
    const nonce = randomBytes(18).toString("base64");
    response.setHeader("content-security-policy", pagePolicy(nonce));
    reply(response, status, page.replaceAll("{{nonce}}", nonce), "text/html; charset=utf-8");
  }

  #ownHost(): string {
    return `${dashboardHost}:${this.#options.port()}`;
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

function internal(cause: unknown): HttpFailure {
  return new HttpFailure(500, "InternalError", "An internal error occurred", { cause });
}

function reply(response: ServerResponse, status: number, content: string, type: string): void {
  for (const [name, value] of Object.entries(commonHeaders)) response.setHeader(name, value);
  if (!response.hasHeader("content-security-policy")) response.setHeader("content-security-policy", dataPolicy);
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(content) });
  response.end(content);
}

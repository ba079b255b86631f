import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { FairShare, type Logger, silentLogger } from "@agent-sandbox/kube";
import type { SendHttp, Servers } from "@agent-sandbox/sdk/internal";
import { createMcpHandler, InMemoryServerEventBus } from "@modelcontextprotocol/server";
import type { Caller, Settings } from "../caller.ts";
import { callerOf } from "../connect.ts";
import { createServer } from "../create-server.ts";
import { RunningCalls } from "../running-calls.ts";
import { followSandboxes } from "../sandboxes/follow-sandboxes.ts";
import { metadataPath, resourceMetadata, tokenOf, unauthorized } from "./authorization.ts";
import { boundedSend } from "./bounded-send.ts";
import { isOwnHost } from "./check-host.ts";
import { readSettings } from "./connection-settings.ts";
import { costOf } from "./cost-of.ts";
import { HttpRefusal, sendJson, sendRefusal } from "./http-refusal.ts";
import { type Messages, readMessages } from "./messages.ts";
import { maxBodyBytes, readBody } from "./read-body.ts";
import { RunningRequests, type SessionOf } from "./running-requests.ts";
import { sendResponse } from "./send-response.ts";

export interface HttpOptions {
  /** The name of the user that a token belongs to. Undefined if the token is not valid. Rejects if that is not known now. */
  readonly userOf: (token: string, peer: string) => Promise<string | undefined>;
  /** The API server and the router, with the rights of a token. */
  readonly servers: (token: string, namespace: string) => Servers;
  readonly send: SendHttp;
  /** Of sandboxes for which neither the agent nor the address names one. */
  readonly source: Settings["source"];
  readonly version: string;
  readonly log?: Logger;
}

/** A user gets at most half of what is free, so that there is always some left for others. */
const maxRequests = 512;
const maxHeldBytes = 536_870_912;
/** Each has two watches at the API server. */
const maxSubscriptions = 128;
/** The longest command takes an hour. */
const longestRequestMs = 65 * 60_000;
const endMs = 5000;
const sessionForm = /^[0-9a-f-]{36}$/;

/**
 * The MCP server over HTTP. Nothing is kept between requests: sandboxes are objects of the cluster, and a request has the rights of its own
 * token. Serves both protocol generations.
 */
export class HttpEndpoint implements AsyncDisposable {
  readonly paths: readonly string[] = ["/mcp", metadataPath];
  readonly #options: HttpOptions;
  readonly #log: Logger;
  readonly #send: SendHttp;
  readonly #requests = new FairShare(maxRequests);
  readonly #memory = new FairShare(maxHeldBytes);
  readonly #subscriptions = new FairShare(maxSubscriptions);
  readonly #running = new RunningRequests();
  readonly #calls = new RunningCalls();
  readonly #ending = new AbortController();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#send = boundedSend(options.send);
  }

  /** Resolves when the response has ended. */
  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    try {
      await this.#serve(request, response, url);
    } catch (error) {
      if (error instanceof HttpRefusal) return sendRefusal(response, error);
      // The client has gone, or this server ends.
      if (response.destroyed || this.#ending.signal.aborted) return void response.destroy();
      this.#log.warn({ err: error }, "MCP request failed");
      sendRefusal(response, new HttpRefusal(500, "An internal error occurred"));
    }
  }

  /** Ends all requests. Their commands are killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the server ends"));
    await this.#calls.ended(endMs);
  }

  async #serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { headers, method } = request;
    const { host = "" } = headers;
    if (!isOwnHost(headers.host)) throw new HttpRefusal(421, "The host name of the request is not that of this server");
    if (headers.origin !== undefined) throw new HttpRefusal(403, "Web pages cannot use this server");
    if (url.pathname === metadataPath) {
      if (method !== "GET") throw notAllowed("GET");
      return sendJson(response, 200, resourceMetadata(host));
    }
    const token = tokenOf(request);
    const user = await this.#userOf(token, request);
    if (user === undefined) throw unauthorized(host, "The token is not valid");
    if (method !== "POST") throw notAllowed("POST");
    const defaults = { namespace: namespaceOf(user) ?? "default", source: this.#options.source };
    const { namespace, workspace, ...settings } = readSettings(url.searchParams, defaults);
    using slot = this.#requests.hold(user);
    if (slot === undefined) throw tooMany();
    using body = await readBody(request, user, this.#memory);
    const messages = readMessages(body.bytes);
    if (messages.value === undefined) return sendJson(response, 400, notJson);
    body.reserve(messages.all.reduce<number>((sum, message) => sum + costOf(message), 0));
    using subscription = messages.isListen ? this.#subscriptions.hold(user) : nothing;
    if (subscription === undefined) throw tooMany();
    const place = { user, session: sessionOf(request) };
    for (const id of messages.cancelled) this.#running.cancel(place, id);
    const { servers } = this.#options;
    const who = { user, ...(workspace !== undefined && { workspace }) };
    const caller = callerOf({ ...who, send: this.#send, servers: servers(token, namespace) });
    await this.#answer({ request, response, url, messages, place, caller, settings });
  }

  async #userOf(token: string, { socket }: IncomingMessage): Promise<string | undefined> {
    try {
      return await this.#options.userOf(token, socket.remoteAddress ?? "");
    } catch (cause) {
      throw new HttpRefusal(503, "The token could not be checked", { cause, headers: { "retry-after": "1" } });
    }
  }

  async #answer({ request, response, url, messages, place, caller, settings }: Exchange): Promise<void> {
    const more = messages.all.length - 1;
    if (!this.#requests.take(place.user, more)) throw tooMany();
    const ending = new AbortController();
    const end = (): void => ending.abort(this.#ending.signal.reason ?? new Error("the client disconnected"));
    const timer = setTimeout(() => ending.abort(new Error("the request took too long")), longestRequestMs).unref();
    response.once("close", end);
    this.#ending.signal.addEventListener("abort", end, { once: true });
    if (response.destroyed || this.#ending.signal.aborted) end();
    try {
      using _running = this.#running.add(place, messages.ids, ending);
      const { signal } = ending;
      const bus = new InMemoryServerEventBus();
      const onChange = (): void => bus.publish({ kind: "resources_list_changed" });
      if (messages.isListen) await followSandboxes({ caller, onChange, signal });
      const { version } = this.#options;
      const handler = createMcpHandler(
        () => createServer({ caller, settings, version, track: (call) => this.#calls.add(call) }),
        { bus, maxRequestBodySize: maxBodyBytes, onerror: (err) => this.#log.debug({ err }, "MCP request refused") },
      );
      const made = await handler.fetch(webRequest(request, url, signal), { parsedBody: messages.value });
      const opens = messages.isInitialize && made.status === 200;
      await sendResponse(response, made, opens ? { "mcp-session-id": randomUUID() } : {});
    } finally {
      clearTimeout(timer);
      // Also what a request has begun that was then refused.
      end();
      response.off("close", end);
      this.#ending.signal.removeEventListener("abort", end);
      this.#requests.giveBack(place.user, more);
    }
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly messages: Messages;
  readonly place: SessionOf;
  readonly caller: Caller;
  readonly settings: Pick<Settings, "source" | "autoSandbox">;
}

/** Without the body, which was read, and without the token, which the library does not need. */
function webRequest({ headers }: IncomingMessage, url: URL, signal: AbortSignal): Request {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === "authorization" ? [] : [[name, [value].flat().join(", ")] as [string, string]],
  );
  return new Request(url, { method: "POST", headers: given, signal });
}

const notJson = { jsonrpc: "2.0", error: { code: -32_700, message: "The body is not valid JSON" }, id: null };

function sessionOf({ headers }: IncomingMessage): string | undefined {
  const session = headers["mcp-session-id"];
  return typeof session === "string" && sessionForm.test(session) ? session : undefined;
}

/** A service account works in its own namespace, unless the address names another one. */
function namespaceOf(user: string): string | undefined {
  return /^system:serviceaccount:([^:]+):/.exec(user)?.[1];
}

const notAllowed = (method: string): HttpRefusal =>
  new HttpRefusal(405, `This address serves ${method} only`, { headers: { allow: method } });

const nothing: Disposable = { [Symbol.dispose]: () => undefined };

const tooMany = (): HttpRefusal =>
  new HttpRefusal(429, "Too many requests of this user are being served", { headers: { "retry-after": "1" } });

import type { ActivityTracker } from "../activity/activity-tracker.ts";
import type { Caller } from "../auth/caller.ts";
import type { CrossOrigin } from "../cors/cross-origin.ts";
import type { Deadlines } from "../deadlines.ts";
import type { RouteOptions } from "../route/find-route.ts";
import { type Route, routeErrors } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import { type AccessRecord, pathOf } from "../telemetry/access-record.ts";
import type { RequestTelemetry } from "../telemetry/request-telemetry.ts";
import type { UpstreamConnector } from "../upstream/connector.ts";
import { Misdirected } from "../upstream/misdirected.ts";
import type { Admission } from "./admit-request.ts";
import type { RequestAuthorizer } from "./authorize-request.ts";
import type { ClientRequest } from "./client-request.ts";
import { Exchange, type Forwarder, type Upstream } from "./exchange.ts";
import { type ParsedRequest, parseRequest } from "./parse-request.ts";
import { requestTimeoutMs } from "./request-timeout.ts";
import type { SandboxResolver } from "./resolve-sandbox.ts";
import type { RouterEndpoints } from "./router-endpoints.ts";
import { sendError, sendGrpcError } from "./send-error.ts";

export interface RequestHandlerOptions {
  readonly routes: RouteOptions;
  readonly endpoints: RouterEndpoints;
  readonly crossOrigin: CrossOrigin;
  readonly resolver: SandboxResolver;
  readonly authorizer: RequestAuthorizer;
  readonly admission: Admission;
  readonly connector: UpstreamConnector;
  readonly activity: ActivityTracker;
  readonly forwarders: Forwarders;
  readonly telemetry: RequestTelemetry;
  readonly deadlines: Deadlines;
  /** How long a request may make no progress. */
  readonly timeoutMs: number;
}

/** A forwarder is only given connections that it has opened itself. */
type AnyForwarder = Forwarder<unknown>;

/** One forwarder for each kind of request. */
export interface Forwarders {
  readonly http: AnyForwarder;
  readonly grpc: AnyForwarder;
  readonly upgrade: AnyForwarder;
  readonly tunnel: AnyForwarder;
}

/**
 * Handles every request that the listeners accept, whatever its protocol. The steps, in order:
 *
 * 1. parse: read the headers and find out which sandbox they name (`parse-request.ts`)
 * 2. allow pages of other origins to read the response, or answer their preflight request (`cors/`)
 * 3. resolve: look up the Sandbox (`resolve-sandbox.ts`)
 * 4. authenticate and authorize the caller (`authorize-request.ts`)
 * 5. admit: apply the limits (`admit-request.ts`)
 * 6. connect: wake the sandbox, wait until it is ready, connect to its pod (`upstream/connector.ts`)
 * 7. forward: send the request and relay the response (`proxy/forward-*.ts`)
 * 8. end: release the limits, send an error if there was one, write the access log (`telemetry/`)
 *
 * Usually the sandbox is ready and a connection to it is free. Then all steps run without a promise, which is why they
 * are not written with `await`.
 */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  handle(client: ClientRequest): void {
    const { routes, endpoints, crossOrigin, resolver, authorizer, telemetry } = this.#options;
    const record = telemetry.begin(client.method, pathOf(client.url), client.connectionInfo.peer);
    try {
      const request = parseRequest(client, record, routes);
      if (crossOrigin.answersPreflight(client, request, record)) return telemetry.finish(record);
      if (client.upgrade === undefined && endpoints.serves(request)) return this.#serveOwn(client, request, record);
      const route = requireRoute(client, request);
      const sandbox = resolver.resolve(route, record);
      const named = { client, request, route };
      const caller = authorizer.authorize(named, sandbox, record);
      const exchange = new Exchange(named, record, sandbox?.metadata.uid);
      if (!(caller instanceof Promise)) return this.#admit(exchange, caller);
      caller.then((known) => this.#admit(exchange, known)).catch((error: unknown) => this.#end(exchange, error));
    } catch (error) {
      this.#finish(client, record, error);
    }
  }

  /** Requests that the router answers itself: health, tokens, logins. */
  #serveOwn(client: ClientRequest, request: ParsedRequest, record: AccessRecord): void {
    const end = (error?: unknown): void => this.#finish(client, record, error);
    this.#options.endpoints.serve(request, client, record).then(() => end(), end);
  }

  #admit(exchange: Exchange, caller: Caller): void {
    const { admission, authorizer, deadlines, timeoutMs } = this.#options;
    try {
      admission.admit(exchange, caller);
      exchange.use(authorizer.watch(exchange));
      const kind = kindOf(exchange.client);
      // A tunnel or a gRPC call may be silent for as long as both ends want.
      if (kind === "http" || kind === "upgrade") {
        exchange.startTimeout(deadlines, requestTimeoutMs(exchange.request.head.timeout, timeoutMs));
      }
      this.#connect(exchange, this.#options.forwarders[kind]);
    } catch (error) {
      this.#end(exchange, error);
    }
  }

  #connect(exchange: Exchange, forwarder: AnyForwarder): void {
    const { connector, authorizer } = this.#options;
    const free = connector.take(exchange, forwarder);
    if (free !== undefined) return this.#forward(exchange, forwarder, free);
    connector
      // Access was checked before the wait. If the name belongs to another Sandbox by now, it is checked for that one.
      .connect(exchange, forwarder, (sandbox) => authorizer.authorize(exchange, sandbox, exchange.record))
      .then((upstream) => this.#forward(exchange, forwarder, upstream))
      .catch((error: unknown) => this.#end(exchange, error));
  }

  #forward(exchange: Exchange, forwarder: AnyForwarder, upstream: Upstream<unknown>): void {
    const { target } = upstream;
    const use = this.#options.activity.begin(target.sandbox);
    exchange.client.response.assign(target.namespace);
    forwarder.forward(exchange, { ...upstream, use }, (error) => {
      use[Symbol.dispose]();
      // The pod did nothing but refuse: the request may be sent once more, to where the sandbox is now.
      const isRefused = error instanceof Misdirected && !exchange.isRepeated && forwarder.mayRepeat(exchange);
      if (!isRefused) return this.#end(exchange, error);
      exchange.isRepeated = true;
      this.#connect(exchange, forwarder);
    });
  }

  #end(exchange: Exchange, error: unknown): void {
    exchange.release();
    this.#finish(exchange.client, exchange.record, error);
  }

  #finish(client: ClientRequest, record: AccessRecord, error: unknown): void {
    const { telemetry } = this.#options;
    if (error !== undefined) {
      const { response, body } = client;
      const refusal = telemetry.failed(record, error, response);
      if (refusal === undefined) response.destroy();
      else {
        body?.abandon();
        (kindOf(client) === "grpc" ? sendGrpcError : sendError)(response, refusal, record.requestId);
      }
    }
    telemetry.finish(record);
  }
}

function kindOf({ upgrade, http2 }: ClientRequest): keyof Forwarders {
  if (upgrade !== undefined) return upgrade.protocol === undefined ? "tunnel" : "upgrade";
  return http2?.request.headers["content-type"]?.startsWith("application/grpc") === true ? "grpc" : "http";
}

function requireRoute({ method, upgrade }: ClientRequest, { route }: ParsedRequest): Route {
  // Over HTTP/2 a protocol other than WebSocket has no known translation to an HTTP/1.1 upgrade.
  if (upgrade !== undefined && method === "CONNECT" && upgrade.protocol !== undefined && !isWebSocket(upgrade)) {
    throw new RouterError("UnknownProtocol", "The only :protocol that can be carried over HTTP/2 is websocket.");
  }
  if (route === undefined) throw new RouterError("InvalidRequest", routeErrors.missingId);
  // TRACE would show the client the headers that the router adds for the sandbox.
  if (method === "TRACE") throw new RouterError("MethodNotAllowed", "Method not allowed here: TRACE");
  return route;
}

function isWebSocket({ protocol }: { readonly protocol: string | undefined }): boolean {
  return protocol?.toLowerCase() === "websocket";
}

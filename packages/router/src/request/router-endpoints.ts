import type { Sandbox } from "@agent-sandbox/api";
import type { Caller } from "../auth/caller.ts";
import { type LoginRequest, type Logins, loginPath } from "../auth/logins.ts";
import { type MintRequest, readMintRequest } from "../auth/mint-request.ts";
import type { TokenIssuer } from "../auth/token-issuer.ts";
import { defaultPort, isDnsLabel, type Route, routeErrors } from "../route/route.ts";
import { forbidden, RouterError } from "../router-error.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { RequestAuthorizer } from "./authorize-request.ts";
import { ClientDisconnected } from "./cancellation.ts";
import type { ClientRequest } from "./client-request.ts";
import type { ParsedRequest } from "./parse-request.ts";
import { BodyCutOff, BodyTooLong, type RequestBody, readWhole } from "./request-body.ts";
import type { SandboxResolver } from "./resolve-sandbox.ts";
import { sendResponse } from "./response-writer.ts";

export interface RouterEndpointsOptions {
  readonly resolver: SandboxResolver;
  readonly authorizer: RequestAuthorizer;
  readonly issuer: TokenIssuer;
  readonly logins: Logins;
  /** How long a client may take to send a request's body. */
  readonly bodyMs: number;
}

interface EndpointRequest {
  readonly client: ClientRequest;
  readonly request: ParsedRequest;
  readonly record: AccessRecord;
}

const tokensPath = /^\/router\/v1\/namespaces\/([^/?]+)\/sandboxes\/([^/?]+)\/(tokens|logins)(?:\?.*)?$/;

/**
 * The endpoints of the router itself:
 *
 * - `GET /healthz`, only if the request names no sandbox, since a sandbox may have its own `/healthz`.
 * - `POST /router/v1/namespaces/<ns>/sandboxes/<name>/tokens` issues a scoped token; `DELETE` revokes all of them.
 * - `POST /router/v1/namespaces/<ns>/sandboxes/<name>/logins` creates a link that opens a sandbox in a browser, once.
 * - `GET /.agent-sandbox/login` on a sandbox's own host name is the target of that link.
 */
export class RouterEndpoints {
  readonly #options: RouterEndpointsOptions;

  constructor(options: RouterEndpointsOptions) {
    this.#options = options;
  }

  /** Whether the request is for the router: it names no sandbox, or it is a login link. */
  serves({ route }: ParsedRequest): boolean {
    if (route === undefined) return true;
    return route.by === "host" && (route.target === loginPath || route.target.startsWith(`${loginPath}?`));
  }

  async serve(request: ParsedRequest, client: ClientRequest, record: AccessRecord): Promise<void> {
    const { target, route } = request;
    const own = { client, request, record };
    if (route !== undefined) return this.#login(own, route);
    if (target === "/healthz" || target.startsWith("/healthz?")) return send(own, 200, { status: "ok" });
    const [, namespace, name, kind] = tokensPath.exec(target) ?? [];
    if (namespace === undefined || name === undefined) throw new RouterError("InvalidRequest", routeErrors.missingId);
    if (!isDnsLabel(name)) throw new RouterError("InvalidRequest", routeErrors.id);
    if (!isDnsLabel(namespace)) throw new RouterError("InvalidRequest", routeErrors.namespace);
    const named: Route = { by: "path", namespace, name, port: defaultPort, uid: undefined, podIp: undefined, target };
    return kind === "tokens" ? this.#tokens(own, named) : this.#logins(own, named);
  }

  async #tokens(own: EndpointRequest, route: Route): Promise<void> {
    const { issuer } = this.#options;
    const { method } = own.client;
    if (method !== "POST" && method !== "DELETE") throw notAllowed(method);
    const { caller, sandbox } = await this.#authorize(own, route);
    // A scoped token that could issue others would never expire.
    if (caller.by === "scoped token") throw forbidden();
    if (sandbox === undefined) throw notFound(route);
    if (method === "DELETE") return send(own, 200, await issuer.revoke(sandbox));
    return send(own, 201, issuer.mint(sandbox, route, await this.#mintRequest(own)));
  }

  async #logins(own: EndpointRequest, route: Route): Promise<void> {
    const { method, connectionInfo } = own.client;
    if (method !== "POST") throw notAllowed(method);
    const { ports } = await this.#mintRequest(own);
    const named = { ...route, port: ports?.[0] ?? defaultPort };
    const { caller, sandbox } = await this.#authorize(own, named);
    if (sandbox === undefined) throw notFound(route);
    const { isSecure } = connectionInfo;
    const login: LoginRequest = { route: named, sandbox, caller, isSecure, host: own.request.host };
    return send(own, 201, this.#options.logins.offer(login));
  }

  async #authorize(
    { client, request, record }: EndpointRequest,
    route: Route,
  ): Promise<{ readonly caller: Caller; readonly sandbox: Sandbox | undefined }> {
    const { resolver, authorizer } = this.#options;
    const sandbox = resolver.resolve(route, record);
    return { caller: await authorizer.authorize({ client, request, route }, sandbox, record), sandbox };
  }

  async #mintRequest({ client }: EndpointRequest): Promise<MintRequest> {
    const parsed = readMintRequest(await readJson(client.body, this.#options.bodyMs));
    if ("error" in parsed) throw new RouterError("InvalidRequest", parsed.error);
    return parsed;
  }

  async #login({ client, request, record }: EndpointRequest, route: Route): Promise<void> {
    const { method, response, connectionInfo } = client;
    if (method !== "GET") throw notAllowed(method);
    record.by = route.by;
    record.sandbox = route.name;
    requireNavigation(request);
    const { isSecure, peer } = connectionInfo;
    const { cookie, to } = await this.#options.logins.redeem(route, { isSecure, peer });
    record.status = 303;
    const headers = ["location", to, "set-cookie", cookie, "cache-control", "no-store"];
    sendResponse(response, { status: 303, headers: [...headers, "referrer-policy", "no-referrer"] });
  }
}

/** A login link works only as a top-level navigation, not in a frame or from a script. */
function requireNavigation({ head: { fetchSite, fetchMode, fetchDest } }: ParsedRequest): void {
  if (fetchSite === undefined) {
    const message = "Browser sessions need HTTPS or a name below localhost: there was no Sec-Fetch-Site header.";
    throw new RouterError("InvalidRequest", message);
  }
  if (fetchMode !== "navigate" || fetchDest !== "document") throw forbidden();
}

function send({ client: { response }, record }: EndpointRequest, status: number, value: object): void {
  record.status = status;
  const headers = ["content-type", "application/json", "cache-control", "no-store"];
  sendResponse(response, { status, headers, body: JSON.stringify(value) });
}

const maxBytes = 16 * 1024;

async function readJson(body: RequestBody | undefined, withinMs: number): Promise<unknown> {
  const bytes = await readWhole(body, { maxBytes, withinMs }).catch((error: unknown) => {
    if (error instanceof BodyTooLong) throw new RouterError("BodyTooLarge", "The request body is too large.");
    throw error instanceof BodyCutOff ? new ClientDisconnected() : error;
  });
  try {
    return bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new RouterError("InvalidRequest", "The request body is not valid JSON.");
  }
}

const notAllowed = (method: string): RouterError =>
  new RouterError("MethodNotAllowed", `Method not allowed here: ${method.slice(0, 32)}`);

const notFound = ({ name }: Route): RouterError => new RouterError("SandboxNotFound", `Sandbox not found: ${name}`);

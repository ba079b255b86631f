import { type LoginRequest, type Logins, loginPath } from "../auth/logins.ts";
import { type MintRequest, readMintRequest } from "../auth/mint-request.ts";
import type { TokenOffice } from "../auth/token-office.ts";
import type { Visit } from "../observe/visit.ts";
import { defaultPort, isDnsLabel, type Route, routeErrors } from "../route/route.ts";
import { forbidden, RouterError } from "../router-error.ts";
import { type Answer, answerWhole } from "./answer.ts";
import { CallerGone } from "./cancellation.ts";
import type { FrontDoor, Reading } from "./front-door.ts";
import type { Incoming } from "./incoming.ts";
import { BodyCutOff, BodyTooLong, type RequestBody, readWhole } from "./request-body.ts";

export interface OwnRoutesOptions {
  readonly door: FrontDoor;
  readonly office: TokenOffice;
  readonly logins: Logins;
  /** How long a caller may take for the body of a request. */
  readonly bodyMs: number;
}

interface OwnRequest {
  readonly body: RequestBody | undefined;
  readonly answer: Answer;
  readonly visit: Visit;
}

const tokensPath = /^\/router\/v1\/namespaces\/([^/?]+)\/sandboxes\/([^/?]+)\/(tokens|logins)(?:\?.*)?$/;

/**
 * What the router answers itself:
 *
 * - `GET /healthz`, if the request names no sandbox: a sandbox may have its own.
 * - `POST /router/v1/namespaces/<ns>/sandboxes/<name>/tokens` mints a scoped token; `DELETE` revokes all there are.
 * - `POST /router/v1/namespaces/<ns>/sandboxes/<name>/logins` makes a link that opens a sandbox in a browser, once.
 * - `GET /.agent-sandbox/login` on a sandbox's own host name is that link.
 */
export class OwnRoutes {
  readonly #options: OwnRoutesOptions;

  constructor(options: OwnRoutesOptions) {
    this.#options = options;
  }

  /** Whether a request that names a sandbox is for the router all the same. */
  answers({ route }: Reading): boolean {
    return route?.by === "host" && (route.target === loginPath || route.target.startsWith(`${loginPath}?`));
  }

  async handle(reading: Reading, { body, answer }: Incoming, visit: Visit): Promise<void> {
    const { target, route } = reading;
    const own = { body, answer, visit };
    if (route !== undefined) return this.#login(reading, route, own);
    if (target === "/healthz" || target.startsWith("/healthz?")) return send(own, 200, { status: "ok" });
    const [, namespace, name, kind] = tokensPath.exec(target) ?? [];
    if (namespace === undefined || name === undefined) throw new RouterError("InvalidRequest", routeErrors.missingId);
    if (!isDnsLabel(name)) throw new RouterError("InvalidRequest", routeErrors.id);
    if (!isDnsLabel(namespace)) throw new RouterError("InvalidRequest", routeErrors.namespace);
    const asked: Route = { by: "path", namespace, name, port: defaultPort, uid: undefined, podIp: undefined, target };
    return kind === "tokens" ? this.#tokens(reading, asked, own) : this.#logins(reading, asked, own);
  }

  async #tokens(reading: Reading, route: Route, own: OwnRequest): Promise<void> {
    const { door, office } = this.#options;
    const { method } = reading.knock;
    if (method !== "POST" && method !== "DELETE") throw notAllowed(method);
    const { caller, sandbox } = await door.authorize(reading, route, own.visit);
    // A token that could mint others would outlive itself.
    if (caller.by === "scoped token") throw forbidden();
    if (sandbox === undefined) throw notFound(route);
    if (method === "DELETE") return send(own, 200, await office.revoke(sandbox));
    return send(own, 201, office.mint(sandbox, route, await this.#wanted(own)));
  }

  async #logins(reading: Reading, route: Route, own: OwnRequest): Promise<void> {
    const { door, logins } = this.#options;
    const { method, isSecure } = reading.knock;
    if (method !== "POST") throw notAllowed(method);
    const wanted = await this.#wanted(own);
    const port = wanted.ports?.[0] ?? defaultPort;
    const { caller, sandbox } = await door.authorize(reading, { ...route, port }, own.visit);
    if (sandbox === undefined) throw notFound(route);
    const request: LoginRequest = { route: { ...route, port }, sandbox, caller, isSecure, host: reading.host };
    return send(own, 201, logins.offer(request));
  }

  async #wanted({ body }: OwnRequest): Promise<MintRequest> {
    const wanted = readMintRequest(await readJson(body, this.#options.bodyMs));
    if ("error" in wanted) throw new RouterError("InvalidRequest", wanted.error);
    return wanted;
  }

  async #login(reading: Reading, route: Route, { answer, visit }: OwnRequest): Promise<void> {
    const { method, isSecure, peer } = reading.knock;
    if (method !== "GET") throw notAllowed(method);
    visit.by = route.by;
    visit.sandbox = route.name;
    refuseHidden(reading);
    const { cookie, to } = await this.#options.logins.redeem(route, { isSecure, peer });
    visit.status = 303;
    const headers = ["location", to, "set-cookie", cookie, "cache-control", "no-store"];
    answerWhole(answer, { status: 303, headers: [...headers, "referrer-policy", "no-referrer"] });
  }
}

/** A link is for a window that a person looks at: no page opens it in a frame or a script. */
function refuseHidden({ head: { fetchSite, fetchMode, fetchDest } }: Reading): void {
  if (fetchSite === undefined) {
    const message = "Browser sessions need HTTPS or a name below localhost: there was no Sec-Fetch-Site header.";
    throw new RouterError("InvalidRequest", message);
  }
  if (fetchMode !== "navigate" || fetchDest !== "document") throw forbidden();
}

function send({ answer, visit }: OwnRequest, status: number, value: object): void {
  visit.status = status;
  const headers = ["content-type", "application/json", "cache-control", "no-store"];
  answerWhole(answer, { status, headers, body: JSON.stringify(value) });
}

const mostBytes = 16 * 1024;

async function readJson(body: RequestBody | undefined, withinMs: number): Promise<unknown> {
  const bytes = await readWhole(body, { mostBytes, withinMs }).catch((error: unknown) => {
    if (error instanceof BodyTooLong) throw new RouterError("BodyTooLarge", "The request body is too large.");
    throw error instanceof BodyCutOff ? new CallerGone() : error;
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

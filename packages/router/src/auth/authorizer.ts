import type { Sandbox } from "@agent-sandbox/api";
import type { ForwardCaller } from "@agent-sandbox/kube";
import type { Route } from "../route/route.ts";
import { forbidden, RouterError } from "../router-error.ts";
import type { AccessReviewer } from "./access-reviewer.ts";
import { type Authenticator, type Identity, unavailable } from "./authenticator.ts";
import type { Caller, VerifiedCertificate } from "./caller.ts";
import type { Grant } from "./grant.ts";
import type { VerifiedToken } from "./scoped-token.ts";
import type { Session, SessionUse } from "./sealed-session.ts";
import { tokenCovers } from "./token-scope.ts";

/** The credentials of a request. */
export interface Credentials {
  readonly bearer: string | undefined;
  /** The values of session cookies that may be used for this request. */
  readonly sessions: readonly string[];
  readonly certificate: VerifiedCertificate | undefined;
  /** The client of the port-forward that the request arrived on, if its identity may be used for this request. */
  readonly forwarded?: ForwardCaller | undefined;
  readonly peer: string;
}

export interface AccessRequest {
  readonly credentials: Credentials;
  readonly route: Route;
  /** The Sandbox that the route names. Undefined if there is none. */
  readonly sandbox: Sandbox | undefined;
}

export interface AuthorizerOptions {
  /** Allows every request. */
  readonly anonymous: boolean;
  readonly authenticator: Authenticator;
  /** Checks whether a user may connect to the Sandbox. Without it, every authenticated user may. */
  readonly access: AccessReviewer | undefined;
}

/** A browser has one session cookie. Pages of the same domain can set more. */
const maxSessions = 16;

/** Decides whether a caller may connect to a sandbox. Refusals do not reveal whether the Sandbox exists. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #holders = new WeakMap<VerifiedToken, Caller>();

  constructor(options: AuthorizerOptions) {
    this.#options = options;
  }

  /** Returns the caller, without a promise unless the API server must be asked. Throws `Unauthenticated` or `Forbidden`. */
  authorize(request: AccessRequest): Caller | Promise<Caller> {
    const { credentials } = request;
    if (this.#options.anonymous) return anonymousCaller(credentials.peer);
    return credentials.sessions.length === 0 ? this.#byCredential(credentials, request) : this.#bySession(request);
  }

  /** Authorizes the credential inside a session, for what the session covers. Throws `Unauthenticated` or `Forbidden`. */
  async redeem({ claims, grant }: Session, use: SessionUse, request: AccessRequest): Promise<Caller> {
    const { route, sandbox } = request;
    if (!tokenCovers({ token: { version: 2, claims }, use, route, sandbox })) throw forbidden();
    return this.#byCredential(grant, request);
  }

  /** Uses the first session that gives access, or else the other credentials of the request. */
  async #bySession(request: AccessRequest): Promise<Caller> {
    for (const text of request.credentials.sessions.slice(0, maxSessions)) {
      const session = this.#options.authenticator.openSession(text, "session");
      if (session === undefined) continue;
      try {
        return await this.redeem(session, "session", request);
      } catch (error) {
        if (!isRefusal(error)) throw error;
      }
    }
    return this.#byCredential(request.credentials, request);
  }

  #byCredential(grant: Grant | Credentials, request: AccessRequest): Caller | Promise<Caller> {
    const identity = this.#options.authenticator.authenticate(grant, request.credentials.peer);
    if (!(identity instanceof Promise)) return this.#allow(identity, request);
    return identity.then((known) => this.#allow(known, request));
  }

  #allow(identity: Identity, request: AccessRequest): Caller | Promise<Caller> {
    switch (identity.kind) {
      case "anonymous":
        return anonymousCaller(request.credentials.peer);
      case "scoped token":
        return this.#allowToken(identity, request);
      case "user":
        return this.#allowUser(identity, request);
      default:
        return identity satisfies never;
    }
  }

  /** The same object for every request with the same token. */
  #allowToken({ token, bearer }: Identity & { kind: "scoped token" }, { route, sandbox }: AccessRequest): Caller {
    if (!tokenCovers({ token, use: "access", route, sandbox })) throw forbidden();
    const { ns, name, id = `${ns}/${name}` } = token.claims;
    const holder = this.#holders.get(token) ?? { id: `token:${id}`, by: "scoped token", grant: { bearer } };
    this.#holders.set(token, holder);
    return holder;
  }

  async #allowUser(
    { user, by, grant }: Identity & { kind: "user" },
    { route, sandbox }: AccessRequest,
  ): Promise<Caller> {
    const { namespace = route.namespace, name = route.name } = sandbox?.metadata ?? {};
    const allowed = await (this.#options.access?.mayConnect(user, namespace, name).catch(unavailable) ?? true);
    if (!allowed) throw forbidden();
    return { id: `user:${user.username}`, by, grant };
  }
}

const anonymousCaller = (peer: string): Caller => ({ id: `address:${peer}`, by: "none", grant: {} });

/** Whether access was refused, as opposed to errors such as an unreachable API server. */
export function isRefusal(error: unknown): error is RouterError {
  return error instanceof RouterError && (error.reason === "Unauthenticated" || error.reason === "Forbidden");
}

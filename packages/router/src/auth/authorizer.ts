import type { Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import { forbidden, RouterError, unauthenticated } from "../router-error.ts";
import type { AccessReviewer } from "./access-reviewer.ts";
import { BoundedCache } from "./bounded-cache.ts";
import type { Caller, User, VerifiedCertificate } from "./caller.ts";
import type { Grant } from "./grant.ts";
import type { Keyring } from "./keyring.ts";
import { looksScoped, type VerifiedToken, verifyToken } from "./scoped-token.ts";
import { openSession, type Session, type SessionUse } from "./sealed-session.ts";
import type { TokenReviewer } from "./token-reviewer.ts";
import { tokenCovers } from "./token-scope.ts";

/** The credentials of a request. */
export interface Credentials {
  readonly bearer: string | undefined;
  /** The values of session cookies that may be used for this request. */
  readonly sessions: readonly string[];
  readonly certificate: VerifiedCertificate | undefined;
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
  /** Whether requests without any credential are refused. */
  readonly requireToken: boolean;
  /** Without keys, scoped tokens and sessions are refused. */
  readonly keys: () => Keyring | undefined;
  readonly tokens: TokenReviewer | undefined;
  /** Checks whether a user may connect to the Sandbox. Without it, every authenticated user may. */
  readonly access: AccessReviewer | undefined;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

/** The tokens in use at a time on a busy router. One that is evicted only has to be verified again. */
const maxVerifiedTokens = 4096;
const verifiedMs = 10_000;
/** A browser has one session cookie. Pages of the same domain can set more. */
const maxSessions = 16;

/** Authenticates callers and decides whether they may connect to a sandbox. Refusals do not reveal whether the Sandbox exists. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #verified = new BoundedCache<VerifiedToken>(maxVerifiedTokens);
  readonly #opened = new BoundedCache<Session>(maxVerifiedTokens);
  readonly #holders = new WeakMap<VerifiedToken, Caller>();
  #keysOfVerified: Keyring | undefined;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
  }

  /** Returns the caller, without a promise unless the API server must be asked. Throws `Unauthenticated` or `Forbidden`. */
  authorize(request: AccessRequest): Caller | Promise<Caller> {
    const { credentials } = request;
    if (this.#options.anonymous) return anonymousCaller(credentials.peer);
    if (credentials.sessions.length === 0) return this.#byCredential(credentials, request);
    return this.#bySession(request);
  }

  /** Decrypts a login link or a session. Undefined if no key fits or it has expired. */
  open(text: string, use: SessionUse): Session | undefined {
    const keys = this.#keys();
    if (keys === undefined) return undefined;
    const now = this.#options.date();
    const key = `${use} ${text}`;
    const known = this.#opened.get(key, now);
    const session = known ?? openSession(text, use, { keys, nowSeconds: now / 1000 });
    if (session === undefined || now / 1000 >= session.claims.exp) return undefined;
    if (known === undefined) this.#opened.set(key, session, now + verifiedMs);
    return session;
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
      const session = this.open(text, "session");
      if (session === undefined) continue;
      try {
        return await this.redeem(session, "session", request);
      } catch (error) {
        if (!isRefusal(error)) throw error;
      }
    }
    return this.#byCredential(request.credentials, request);
  }

  #byCredential({ bearer, certificate }: Grant, request: AccessRequest): Caller | Promise<Caller> {
    if (bearer !== undefined && looksScoped(bearer)) return this.#scoped(request, bearer);
    if (bearer !== undefined) return this.#reviewed(request, bearer);
    if (certificate !== undefined && this.#options.date() < certificate.untilMs) {
      return this.#allowed(request, certificate.user, { by: "certificate", grant: { certificate } });
    }
    if (certificate === undefined && !this.#options.requireToken) return anonymousCaller(request.credentials.peer);
    throw unauthenticated();
  }

  /** The same object for every request with the same token. */
  #holderOf(token: VerifiedToken, bearer: string): Caller {
    const { ns, name, id = `${ns}/${name}` } = token.claims;
    const holder = this.#holders.get(token) ?? { id: `token:${id}`, by: "scoped token", grant: { bearer } };
    this.#holders.set(token, holder);
    return holder;
  }

  async #reviewed(request: AccessRequest, bearer: string): Promise<Caller> {
    const user = await this.#options.tokens?.userOf(bearer, request.credentials.peer).catch(unavailable);
    if (user === undefined) throw unauthenticated();
    return this.#allowed(request, user, { by: "token", grant: { bearer } });
  }

  /** Drops the cached tokens when the keys change, so that those of a removed key are refused at once. */
  #keys(): Keyring | undefined {
    const keys = this.#options.keys();
    if (this.#keysOfVerified !== keys) {
      this.#verified.clear();
      this.#opened.clear();
    }
    this.#keysOfVerified = keys;
    return keys;
  }

  /** Undefined if none of the keys signed the token or it has expired. */
  #verify(token: string): VerifiedToken | undefined {
    const keys = this.#keys();
    if (keys === undefined) return undefined;
    const now = this.#options.date();
    const known = this.#verified.get(token, now);
    const verified = known ?? verifyToken(token, keys, now / 1000);
    if (verified === undefined || now / 1000 >= verified.claims.exp) return undefined;
    if (known === undefined) this.#verified.set(token, verified, now + verifiedMs);
    return verified;
  }

  #scoped({ route, sandbox }: AccessRequest, bearer: string): Caller {
    const token = this.#verify(bearer);
    if (token === undefined) throw unauthenticated();
    if (!tokenCovers({ token, use: "access", route, sandbox })) throw forbidden();
    return this.#holderOf(token, bearer);
  }

  async #allowed({ route, sandbox }: AccessRequest, user: User, how: Pick<Caller, "by" | "grant">): Promise<Caller> {
    const { namespace = route.namespace, name = route.name } = sandbox?.metadata ?? {};
    const allowed = await (this.#options.access?.mayConnect(user, namespace, name).catch(unavailable) ?? true);
    if (!allowed) throw forbidden();
    return { id: `user:${user.username}`, ...how };
  }
}

const anonymousCaller = (peer: string): Caller => ({ id: `address:${peer}`, by: "none", grant: {} });

/** Whether access was refused, as opposed to errors such as an unreachable API server. */
export function isRefusal(error: unknown): error is RouterError {
  return error instanceof RouterError && (error.reason === "Unauthenticated" || error.reason === "Forbidden");
}

/** The API server's message is logged and not sent to the client. */
function unavailable(cause: unknown): never {
  throw new RouterError("Internal", "The credentials could not be checked.", { cause });
}

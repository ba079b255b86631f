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

/** What came with a request that could say who asks. */
export interface Credentials {
  readonly bearer: string | undefined;
  /** Session cookies, if they may count for this request at all. */
  readonly sessions: readonly string[];
  readonly certificate: VerifiedCertificate | undefined;
  readonly peer: string;
}

export interface AccessRequest {
  readonly credentials: Credentials;
  readonly route: Route;
  /** What the route names; absent when there is no such Sandbox. */
  readonly sandbox: Sandbox | undefined;
}

export interface AuthorizerOptions {
  /** Everybody may reach everything. */
  readonly anonymous: boolean;
  /** Whether a request without any credential passes; nothing asks for it by default. */
  readonly requireToken: boolean;
  /** Scoped tokens and sessions are taken when there are keys. */
  readonly keys: () => Keyring | undefined;
  readonly tokens: TokenReviewer | undefined;
  /** Whether a user who is known may reach this Sandbox; without it every known user may. */
  readonly access: AccessReviewer | undefined;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

/** As many tokens as are in use at a time on a busy router; one that drops out is only hashed again. */
const mostVerifiedTokens = 4096;
const verifiedMs = 10_000;
/** A browser has one; others are what a page of the same domain put there. */
const mostSessions = 16;

/** Decides who may reach a sandbox. The answer for a Sandbox that does not exist is the same as for one that does. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #verified = new BoundedCache<VerifiedToken>(mostVerifiedTokens);
  readonly #opened = new BoundedCache<Session>(mostVerifiedTokens);
  readonly #holders = new WeakMap<VerifiedToken, Caller>();
  #keysOfVerified: Keyring | undefined;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
  }

  /** The caller, at once when nobody has to be asked; throws the answer otherwise. */
  authorize(request: AccessRequest): Caller | Promise<Caller> {
    const { credentials } = request;
    if (this.#options.anonymous) return nobody(credentials.peer);
    if (credentials.sessions.length === 0) return this.#granted(credentials, request);
    return this.#bySession(request);
  }

  /** A login link or a session that one of the keys encrypted and that has not expired. */
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

  /** Lets in whom a session's credential still lets in, to what the session is for. Throws the refusal. */
  async redeem({ claims, grant }: Session, use: SessionUse, request: AccessRequest): Promise<Caller> {
    const { route, sandbox } = request;
    if (!tokenCovers({ token: { version: 2, claims }, use, route, sandbox })) throw forbidden();
    return this.#granted(grant, request);
  }

  /** The first session that is good; when none is, what else the request came with. */
  async #bySession(request: AccessRequest): Promise<Caller> {
    for (const text of request.credentials.sessions.slice(0, mostSessions)) {
      const session = this.open(text, "session");
      if (session === undefined) continue;
      try {
        return await this.redeem(session, "session", request);
      } catch (error) {
        if (!isRefusal(error)) throw error;
      }
    }
    return this.#granted(request.credentials, request);
  }

  #granted({ bearer, certificate }: Grant, request: AccessRequest): Caller | Promise<Caller> {
    if (bearer !== undefined && looksScoped(bearer)) return this.#scoped(request, bearer);
    if (bearer !== undefined) return this.#reviewed(request, bearer);
    if (certificate !== undefined && this.#options.date() < certificate.untilMs) {
      return this.#allowed(request, certificate.user, { by: "certificate", grant: { certificate } });
    }
    if (certificate === undefined && !this.#options.requireToken) return nobody(request.credentials.peer);
    throw unauthenticated();
  }

  /** The same for every request with the same token. */
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

  /** A key that was taken out takes what it signed with it at once. */
  #keys(): Keyring | undefined {
    const keys = this.#options.keys();
    if (this.#keysOfVerified !== keys) {
      this.#verified.clear();
      this.#opened.clear();
    }
    this.#keysOfVerified = keys;
    return keys;
  }

  /** A token one of the keys signed and that has not expired. */
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

const nobody = (peer: string): Caller => ({ id: `address:${peer}`, by: "none", grant: {} });

/** Whether it is known that the credential is not enough, as opposed to not being able to tell. */
export function isRefusal(error: unknown): error is RouterError {
  return error instanceof RouterError && (error.reason === "Unauthenticated" || error.reason === "Forbidden");
}

/** What the API server said stays in the log. */
function unavailable(cause: unknown): never {
  throw new RouterError("Internal", "The credentials could not be checked.", { cause });
}

import type { Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import { forbidden, RouterError, unauthenticated } from "../router-error.ts";
import type { AccessReviewer } from "./access-reviewer.ts";
import { BoundedCache } from "./bounded-cache.ts";
import type { Caller, User } from "./caller.ts";
import type { Keyring } from "./keyring.ts";
import { looksScoped, type VerifiedToken, verifyToken } from "./scoped-token.ts";
import type { TokenReviewer } from "./token-reviewer.ts";
import { tokenCovers } from "./token-scope.ts";

/** What came with a request that could say who asks. */
export interface Credentials {
  readonly bearer: string | undefined;
  /** Session cookies, if they may count for this request at all. */
  readonly sessions: readonly string[];
  /** From a client certificate that was verified. */
  readonly certificate: User | undefined;
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
  /** Scoped tokens are taken when there are keys. */
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

/** Decides who may reach a sandbox. The answer for a Sandbox that does not exist is the same as for one that does. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #verified = new BoundedCache<VerifiedToken>(mostVerifiedTokens);
  readonly #holders = new WeakMap<VerifiedToken, Caller>();
  #keysOfVerified: Keyring | undefined;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
  }

  /** The caller, at once when nobody has to be asked; throws the answer otherwise. */
  authorize(request: AccessRequest): Caller | Promise<Caller> {
    const { credentials } = request;
    if (this.#options.anonymous) return { id: `address:${credentials.peer}` };
    const session = this.#session(request);
    if (session !== undefined) return session;
    const { bearer, certificate } = credentials;
    if (bearer !== undefined && looksScoped(bearer)) return this.#scoped(request, bearer);
    if (bearer !== undefined) return this.#reviewed(request, bearer);
    if (certificate !== undefined) return this.#allowed(request, certificate);
    if (!this.#options.requireToken) return { id: `address:${credentials.peer}` };
    throw unauthenticated();
  }

  /** The same for every request with the same token. */
  #holderOf(token: VerifiedToken): Caller {
    const { ns, name, id = `${ns}/${name}` } = token.claims;
    const holder = this.#holders.get(token) ?? { id: `token:${id}` };
    this.#holders.set(token, holder);
    return holder;
  }

  async #reviewed(request: AccessRequest, bearer: string): Promise<Caller> {
    const user = await this.#options.tokens?.userOf(bearer).catch(unavailable);
    if (user === undefined) throw unauthenticated();
    return this.#allowed(request, user);
  }

  /** A token one of the keys signed and that has not expired. */
  verify(token: string): VerifiedToken | undefined {
    const keys = this.#options.keys();
    if (keys === undefined) return undefined;
    const now = this.#options.date();
    // A key that was taken out takes its tokens with it at once.
    if (this.#keysOfVerified !== keys) this.#verified.clear();
    this.#keysOfVerified = keys;
    const known = this.#verified.get(token, now);
    const verified = known ?? verifyToken(token, keys, now / 1000);
    if (verified === undefined || now / 1000 >= verified.claims.exp) return undefined;
    if (known === undefined) this.#verified.set(token, verified, now + verifiedMs);
    return verified;
  }

  #session({ credentials, route, sandbox }: AccessRequest): Caller | undefined {
    for (const value of credentials.sessions) {
      const token = this.verify(value);
      const covers = token !== undefined && tokenCovers({ token, use: "session", route, sandbox });
      if (covers) return this.#holderOf(token);
    }
    return undefined;
  }

  #scoped({ route, sandbox }: AccessRequest, bearer: string): Caller {
    const token = this.verify(bearer);
    if (token === undefined) throw unauthenticated();
    if (!tokenCovers({ token, use: "access", route, sandbox })) throw forbidden();
    return this.#holderOf(token);
  }

  async #allowed({ route, sandbox }: AccessRequest, user: User): Promise<Caller> {
    const { namespace = route.namespace, name = route.name } = sandbox?.metadata ?? {};
    const allowed = await (this.#options.access?.mayConnect(user, namespace, name).catch(unavailable) ?? true);
    if (!allowed) throw forbidden();
    return { id: `user:${user.username}`, user };
  }
}

/** What the API server said stays in the log. */
function unavailable(cause: unknown): never {
  throw new RouterError("Internal", "The credentials could not be checked.", { cause });
}

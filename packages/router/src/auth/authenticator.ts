import type { ForwardCaller } from "@agent-sandbox/kube";
import { RouterError, unauthenticated } from "../router-error.ts";
import { BoundedCache } from "./bounded-cache.ts";
import type { User } from "./caller.ts";
import type { Grant } from "./grant.ts";
import type { Keyring } from "./keyring.ts";
import { looksScoped, type VerifiedToken, verifyToken } from "./scoped-token.ts";
import { openSession, type Session, type SessionUse } from "./sealed-session.ts";
import type { TokenReviewer } from "./token-reviewer.ts";

export interface AuthenticatorOptions {
  /** Whether requests without any credential are refused. */
  readonly requireToken: boolean;
  /** Without keys, scoped tokens and sessions are refused. */
  readonly keys: () => Keyring | undefined;
  readonly tokens: TokenReviewer | undefined;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

/** Who sent a request, before it is known what they may do. */
export type Identity =
  | { readonly kind: "anonymous" }
  | { readonly kind: "scoped token"; readonly token: VerifiedToken; readonly bearer: string }
  | {
      readonly kind: "user";
      readonly by: "token" | "certificate" | "port-forward";
      readonly user: User;
      readonly grant: Grant;
    };

/** A session or login link has a grant only, because nothing of a port-forward can be kept. */
interface PresentedCredentials extends Grant {
  readonly forwarded?: ForwardCaller | undefined;
}

/** The tokens in use at a time on a busy router. One that is evicted only has to be verified again. */
const maxVerified = 4096;
const verifiedMs = 10_000;

/** Finds out who sent a request: verifies tokens, certificates and sessions. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #verified = new BoundedCache<VerifiedToken>(maxVerified);
  readonly #opened = new BoundedCache<Session>(maxVerified);
  #cachedKeys: Keyring | undefined;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Returns a promise only if the API server must be asked. Throws or rejects with `Unauthenticated`. */
  authenticate({ bearer, certificate, forwarded }: PresentedCredentials, peer: string): Identity | Promise<Identity> {
    if (bearer !== undefined && looksScoped(bearer)) return this.#scopedToken(bearer);
    if (bearer !== undefined) return this.#reviewedToken(bearer, peer);
    if (forwarded !== undefined) return forwardedUser(forwarded);
    if (certificate !== undefined && this.#options.date() < certificate.untilMs) {
      return { kind: "user", by: "certificate", user: certificate.user, grant: { certificate } };
    }
    if (certificate === undefined && !this.#options.requireToken) return { kind: "anonymous" };
    throw unauthenticated();
  }

  /** Decrypts a login link or a session. Undefined if no key fits or it has expired. */
  openSession(text: string, use: SessionUse): Session | undefined {
    const keys = this.#keys();
    if (keys === undefined) return undefined;
    const now = this.#options.date();
    const key = `${use} ${text}`;
    const cached = this.#opened.get(key, now);
    const session = cached ?? openSession(text, use, { keys, nowSeconds: now / 1000 });
    if (session === undefined || now / 1000 >= session.claims.exp) return undefined;
    if (cached === undefined) this.#opened.set(key, session, now + verifiedMs);
    return session;
  }

  #scopedToken(bearer: string): Identity {
    const token = this.#verify(bearer);
    if (token === undefined) throw unauthenticated();
    return { kind: "scoped token", token, bearer };
  }

  async #reviewedToken(bearer: string, peer: string): Promise<Identity> {
    const user = await this.#options.tokens?.userOf(bearer, peer).catch(unavailable);
    if (user === undefined) throw unauthenticated();
    return { kind: "user", by: "token", user, grant: { bearer } };
  }

  /** Undefined if none of the keys signed the token or it has expired. */
  #verify(token: string): VerifiedToken | undefined {
    const keys = this.#keys();
    if (keys === undefined) return undefined;
    const now = this.#options.date();
    const cached = this.#verified.get(token, now);
    const verified = cached ?? verifyToken(token, keys, now / 1000);
    if (verified === undefined || now / 1000 >= verified.claims.exp) return undefined;
    if (cached === undefined) this.#verified.set(token, verified, now + verifiedMs);
    return verified;
  }

  /** Drops the cached tokens when the keys change, so that those of a removed key are refused at once. */
  #keys(): Keyring | undefined {
    const keys = this.#options.keys();
    if (this.#cachedKeys !== keys) {
      this.#verified.clear();
      this.#opened.clear();
    }
    this.#cachedKeys = keys;
    return keys;
  }
}

/** The API server authenticates the client of a port-forward again for each request on it. */
function forwardedUser(caller: ForwardCaller): Identity {
  const user = caller.user();
  if (user === undefined) throw unauthenticated();
  return { kind: "user", by: "port-forward", user, grant: {} };
}

/** The API server's message is logged and not sent to the client. */
export function unavailable(cause: unknown): never {
  throw new RouterError("Internal", "The credentials could not be checked.", { cause });
}

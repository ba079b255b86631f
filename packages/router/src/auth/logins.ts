import { randomBytes } from "node:crypto";
import type { Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import { forbidden, RouterError, unauthenticated } from "../router-error.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Authorizer } from "./authorizer.ts";
import type { Caller } from "./caller.ts";
import { type Grant, grantExpiry } from "./grant.ts";
import type { Keyring } from "./keyring.ts";
import { maxSealedLength, type SessionUse, sealSession } from "./sealed-session.ts";
import { formatSessionCookie } from "./session-cookie.ts";
import { UsedCodes } from "./used-codes.ts";

/** Served by the router on the host name of every sandbox. */
export const loginPath = "/.agent-sandbox/login";

export interface LoginsOptions {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly keys: () => Keyring | undefined;
  readonly sandboxOf: (route: Route) => Sandbox | undefined;
  /** The domain of the sandboxes' host names. Without it, logins are not possible. */
  readonly domain: string | undefined;
  readonly date: () => number;
}

export interface LoginRequest {
  readonly route: Route;
  readonly sandbox: Sandbox;
  readonly caller: Caller;
  readonly isSecure: boolean;
  /** The Host header of the request. Its port is used in the link. */
  readonly host: string | undefined;
}

interface Sealed {
  readonly text: string;
  readonly lifetimeSeconds: number;
  readonly expiresAt: string;
}

const codeSeconds = 60;
const sessionSeconds = 8 * 3600;

/**
 * Creates browser sessions for one port of one sandbox, through a link that can be used once. Link and session contain the
 * caller's credential, encrypted. So they expire with it and give no more access than it does.
 */
export class Logins {
  readonly #options: LoginsOptions;
  readonly #used = new UsedCodes();

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  /** Creates a login link. */
  offer(request: LoginRequest): { readonly url: string; readonly expiresAt: string } {
    const { route, sandbox, caller, isSecure, host = "" } = request;
    const { domain } = this.#options;
    if (domain === undefined) throw new RouterError("InvalidRequest", "The router has no domain for sandboxes.");
    const code = this.#seal({ route, sandbox, grant: caller.grant }, "login", codeSeconds);
    const [port = ""] = /:\d+$/.exec(host) ?? [];
    const origin = `${isSecure ? "https" : "http"}://${route.port}-${route.name}.${route.namespace}.${domain}${port}`;
    return { url: `${origin}${loginPath}?code=${code.text}`, expiresAt: code.expiresAt };
  }

  /** Exchanges the code of a login link for a session cookie. */
  async redeem(
    route: Route,
    { isSecure, peer }: { readonly isSecure: boolean; readonly peer: string },
  ): Promise<{ readonly cookie: string; readonly to: string }> {
    const { authenticator, authorizer, sandboxOf, date } = this.#options;
    const query = new URLSearchParams(route.target.slice(loginPath.length));
    const code = authenticator.openSession(query.get("code") ?? "", "login");
    if (code === undefined) throw unauthenticated();
    const sandbox = sandboxOf(route);
    if (sandbox === undefined) throw forbidden();
    const credentials = { bearer: undefined, certificate: undefined, sessions: [], peer };
    await authorizer.redeem(code, "login", { credentials, route, sandbox });
    this.#used.use(code.claims, date() / 1000);
    const session = this.#seal({ route, sandbox, grant: code.grant }, "session", sessionSeconds);
    const { text: token, lifetimeSeconds: maxAgeSeconds } = session;
    return { cookie: formatSessionCookie({ token, maxAgeSeconds, secure: isSecure }), to: ownPath(query.get("to")) };
  }

  #seal(
    { route, sandbox, grant }: { readonly route: Route; readonly sandbox: Sandbox; readonly grant: Grant },
    use: SessionUse,
    maxSeconds: number,
  ): Sealed {
    const { date, keys } = this.#options;
    const [key] = keys() ?? [];
    const { uid } = sandbox.metadata;
    if (key === undefined || uid === undefined) throw new RouterError("Forbidden", "Scoped tokens are not enabled.");
    const iat = date() / 1000;
    const exp = Math.floor(Math.min(iat + maxSeconds, grantExpiry(grant)));
    const id = randomBytes(9).toString("base64url");
    const claims = { ns: route.namespace, name: route.name, uid, ports: [route.port], iat, exp, id, use };
    const text = sealSession({ claims, grant }, use, key);
    if (text.length > maxSealedLength) {
      throw new RouterError("InvalidRequest", "The credential is too long for a browser session: use a scoped token.");
    }
    const lifetimeSeconds = Math.max(0, exp - Math.floor(iat));
    return { text, lifetimeSeconds, expiresAt: new Date(exp * 1000).toISOString() };
  }
}

/** Only paths are accepted, so that a login link cannot redirect to another host. */
function ownPath(to: string | null): string {
  return to !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : "/";
}

import type { Sandbox } from "@agent-sandbox/api";
import type { Route } from "../route/route.ts";
import { forbidden, RouterError, unauthenticated } from "../router-error.ts";
import type { Authorizer } from "./authorizer.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { formatSessionCookie } from "./session-cookie.ts";
import type { TokenOffice } from "./token-office.ts";
import { tokenCovers } from "./token-scope.ts";

/** On a sandbox's own host name this path is the router's. */
export const loginPath = "/.agent-sandbox/login";

export interface LoginsOptions {
  readonly office: TokenOffice;
  readonly authorizer: Authorizer;
  readonly sandboxOf: (route: Route) => Sandbox | undefined;
  /** The domain of sandboxes' host names; without one there is nothing a browser could open. */
  readonly domain: string | undefined;
  readonly date: () => number;
}

export interface LoginRequest {
  readonly route: Route;
  readonly sandbox: Sandbox;
  readonly isSecure: boolean;
  /** The Host the request came to: its port is the one browsers reach the router by. */
  readonly host: string | undefined;
}

const codeSeconds = 60;
const sessionSeconds = 8 * 3600;
/** More logins than this within a minute are turned away by their age rather than by memory. */
const mostUsedCodes = 10_000;

/** Gives browsers a session with one port of one sandbox, through a link that works once. */
export class Logins {
  readonly #options: LoginsOptions;
  readonly #used = new BoundedCache<true>(mostUsedCodes);

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  offer({ route, sandbox, isSecure, host = "" }: LoginRequest): { readonly url: string; readonly expiresAt: string } {
    const { domain, office } = this.#options;
    if (domain === undefined) throw new RouterError("InvalidRequest", "The router has no domain for sandboxes.");
    const wanted = { ports: [route.port], lifetimeSeconds: codeSeconds };
    const { token, expiresAt } = office.mint(sandbox, route, wanted, "login");
    const [port = ""] = /:\d+$/.exec(host) ?? [];
    const origin = `${isSecure ? "https" : "http"}://${route.port}-${route.name}.${route.namespace}.${domain}${port}`;
    return { url: `${origin}${loginPath}?code=${token}`, expiresAt };
  }

  /** Takes the code in the link and gives the cookie for it. */
  redeem(route: Route, isSecure: boolean): { readonly cookie: string; readonly to: string } {
    const { authorizer, office, sandboxOf, date } = this.#options;
    const query = new URLSearchParams(route.target.slice(loginPath.length));
    const token = authorizer.verify(query.get("code") ?? "");
    const id = token?.claims.id;
    if (token === undefined || id === undefined) throw unauthenticated();
    const sandbox = sandboxOf(route);
    if (sandbox === undefined || !tokenCovers({ token, use: "login", route, sandbox })) throw forbidden();
    if (this.#used.get(id, date()) !== undefined) throw unauthenticated();
    this.#used.set(id, true, token.claims.exp * 1000);
    const wanted = { ports: [route.port], lifetimeSeconds: sessionSeconds };
    const session = office.mint(sandbox, route, wanted, "session");
    const cookie = formatSessionCookie({ token: session.token, maxAgeSeconds: sessionSeconds, secure: isSecure });
    return { cookie, to: ownPath(query.get("to")) };
  }
}

/** Only a path of this very host: a login link must lead nowhere else. */
function ownPath(to: string | null): string {
  return to !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : "/";
}

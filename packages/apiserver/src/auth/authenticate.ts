import { ApiError } from "../api-error.ts";
import type { Clock } from "../clock.ts";
import type { AccountTokens, TokenCheck } from "./account-tokens.ts";
import { sameToken } from "./admin-token.ts";
import type { ClientCertificate } from "./client-certificate.ts";
import { anonymous, authenticatedGroup, type Identity, superuserGroup } from "./identity.ts";

const admin: Identity = { user: "admin", groups: [superuserGroup, authenticatedGroup] };

/** Paths that need no credentials by default: health and version. */
export const defaultAnonymousPaths: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"];

export interface Credentials {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly certificate?: ClientCertificate | undefined;
}

export interface AuthenticatorOptions {
  /** The administrator's token. */
  readonly adminToken: string;
  readonly tokens: AccountTokens;
  readonly clock: Clock;
  /** Paths that need no credentials. Default: health and version. */
  readonly anonymousPaths?: readonly string[] | undefined;
}

/** Longer than any token that this server issues. Longer ones are refused without any computation. */
const maxTokenLength = 32 * 1024;

/** Authenticates requests. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #anonymousPaths: ReadonlySet<string>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#anonymousPaths = new Set(options.anonymousPaths ?? defaultAnonymousPaths);
  }

  /** Uses a trusted certificate first, then a token. A request with only invalid credentials is refused, also on paths that need none. */
  authenticate({ path, authorization, certificate }: Credentials): Identity {
    const byCertificate = certificate === undefined ? undefined : this.#trusted(certificate);
    if (byCertificate !== undefined) return byCertificate;
    const token = bearerToken(authorization);
    const checked = token === undefined ? undefined : this.checkToken(token);
    if (checked !== undefined && "identity" in checked) return checked.identity;
    const nothingShown = authorization === undefined && certificate === undefined;
    if (nothingShown && this.#anonymousPaths.has(path)) return anonymous;
    throw new ApiError("Unauthorized", "Unauthorized");
  }

  checkToken(token: string, audiences?: readonly string[]): TokenCheck | undefined {
    if (token.length > maxTokenLength) return undefined;
    const { adminToken, tokens } = this.#options;
    if (sameToken(token, adminToken)) return { identity: admin, audiences: audiences ?? tokens.audiences };
    return tokens.check(token, audiences);
  }

  #trusted({ problem, identity, notAfterMs }: ClientCertificate): Identity | undefined {
    // A connection may stay open beyond the validity of its certificate.
    return problem === undefined && this.#options.clock.now() <= notAfterMs ? identity : undefined;
  }
}

function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

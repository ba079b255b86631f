import { ApiError } from "../api-error.ts";
import type { Clock } from "../clock.ts";
import type { AccountTokens, TokenCheck } from "./account-tokens.ts";
import { sameToken } from "./admin-token.ts";
import type { ClientCertificate } from "./client-certificate.ts";
import { anonymous, authenticatedGroup, type Identity, superuserGroup } from "./identity.ts";

const admin: Identity = { user: "admin", groups: [superuserGroup, authenticatedGroup] };

/** What anybody may know: that the server lives, and which one it is. */
export const defaultAnonymousPaths: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"];

export interface Credentials {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly certificate?: ClientCertificate | undefined;
}

export interface AuthenticatorOptions {
  /** The token that opens everything. */
  readonly adminToken: string;
  readonly tokens: AccountTokens;
  readonly clock: Clock;
  /** Paths that need no credentials. Default: health and version. */
  readonly anonymousPaths?: readonly string[] | undefined;
}

/** Longer than any token of ours; nothing is computed over more. */
const maxTokenLength = 32 * 1024;

/** Finds out who sends a request. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #anonymousPaths: ReadonlySet<string>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#anonymousPaths = new Set(options.anonymousPaths ?? defaultAnonymousPaths);
  }

  /** A good certificate comes first, then a token; who shows something that is not good is nobody, not even anonymous. */
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
    // A connection may outlive the certificate it was opened with.
    return problem === undefined && this.#options.clock.now() <= notAfterMs ? identity : undefined;
  }
}

function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

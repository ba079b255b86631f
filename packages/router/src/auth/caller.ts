import type { Grant } from "./grant.ts";

/** The authenticated sender of a request. */
export interface Caller {
  /** Limits are counted by this id. It is never a secret. */
  readonly id: string;
  /** The kind of credential. A scoped token may not issue other tokens. */
  readonly by: "none" | "scoped token" | "token" | "certificate" | "port-forward";
  readonly grant: Grant;
}

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The tenant that a user's requests count towards. All service accounts of a namespace are one tenant. */
export function tenantOf({ username }: User): string {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(username) ?? [];
  return namespace === undefined ? `user ${username}` : `namespace ${namespace}`;
}

/** The user of a verified client certificate. */
export interface VerifiedCertificate {
  readonly user: User;
  /** When it expires, in milliseconds since 1970. */
  readonly untilMs: number;
}

/** The token of `Bearer <token>`. The scheme is not case-sensitive. Undefined if there is no token. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [, token = ""] = /^bearer (.*)$/is.exec(authorization ?? "") ?? [];
  const trimmed = token.trim();
  return trimmed === "" ? undefined : trimmed;
}
